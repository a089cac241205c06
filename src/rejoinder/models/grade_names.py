"""What GRADE's authors call the weights of their checkpoint: the names of texar-pytorch's modules and their own."""

from __future__ import annotations

_LINEAR = {
    "near": "linear_onehop_weight",
    "far": "linear_twohop_weight",
    "topic": "linear1",
    "utterance": "linear2_1",
    "joint": "linear3",
    "last": "linear4_1",
    "score": "linear5",
}
_BERT = {
    "embeddings.word_embeddings.weight": "word_embedder._embedding",
    "embeddings.token_type_embeddings.weight": "segment_embedder._embedding",
    "embeddings.position_embeddings.weight": "position_embedder._embedding",
    "embeddings.LayerNorm": "encoder.input_normalizer",
    "pooler.dense": "pooler.0",
}
_BERT_LAYER = {
    "attention.self.query": "self_attns.{}.Q_dense",
    "attention.self.key": "self_attns.{}.K_dense",
    "attention.self.value": "self_attns.{}.V_dense",
    "attention.output.dense": "self_attns.{}.O_dense",
    "attention.output.LayerNorm": "poswise_layer_norm.{}",
    "intermediate.dense": "poswise_networks.{}._layers.0",
    "output.dense": "poswise_networks.{}._layers.2",
    "output.LayerNorm": "output_layer_norm.{}",
}


def name_of(name: str) -> str:
    """What the authors' checkpoint calls a parameter of our network."""
    first, _, rest = name.partition(".")
    if first == "bert":
        return f"bert_encoder.{_bert_name(rest)}"
    if first == "keywords":
        return "word_embedder._embedding"
    if first == "attention":
        layer, _, head, part = rest.split(".")
        return f"gat_{int(layer) + 1}.heads.{head}.{'W' if part == 'project' else 'a'}"
    if first == "whole":
        layer, part = rest.split(".")
        return f"linear0_{int(layer) + 1}._linear_layer.{part}"
    return f"{_LINEAR[first]}._linear_layer.{rest}"


def _bert_name(name: str) -> str:
    if name in _BERT:
        return _BERT[name]
    module, _, part = name.rpartition(".")
    if module in _BERT:
        return f"{_BERT[module]}.{part}"
    _, _, layer, inner = module.split(".", 3)
    return f"encoder.{_BERT_LAYER[inner].format(layer)}.{part}"
