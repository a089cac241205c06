"""Every command that reads a file, with valid inputs for it."""

# ruff: noqa: E501
from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A command line and the inputs that it needs; the files among ``damaged`` are those that may be damaged."""

    words: str
    inputs: str
    damaged: str = ""  # all inputs where nothing is said
    refusal: str = ""  # what the error says with valid inputs, of a command that needs more than files
    heavy: bool = False  # takes half a second or more: tried less often


_ONE = "--processes 1"
_FIELDS = "--field reference=good --field rating:fun=score"
# The files of tests/shapes by what reads them; all go into score.
_SHAPES = (
    "utf16.csv cp1252.csv semicolon.csv excel.csv zipped.csv.gz titled.csv table.md sheet.xlsx rows.parquet array.json "
    "utf16.jsonl utf16_plain.json wrapped.json pandas_columns.json pandas_split.json commas.jsonl conversations.json "
    "help_desk.csv intercom.jsonl chat_table.tsv thumbs.csv preferences.jsonl preferences.csv transcripts.jsonl "
    "chats.parquet openai_responses.jsonl anthropic_calls.jsonl chatgpt_conversations.json claude_conversations.json "
    "langfuse_traces.csv langsmith_runs.jsonl otel_otlp.json otel_console.json"
).split()
_SHAPE_CASES = (
    *(Case(f"score {name} -m length -o out --no-cache --empty nan --format json {_ONE}", f"shapes/{name}:{name}") for name in _SHAPES),
    Case(f"score tables -m length -o out --no-cache --empty nan {_ONE}", "shapes/quality.csv:tables/old.csv shapes/cp1252.csv:tables/new.csv shapes/history.jsonl:tables/list.json"),
    Case(f"score text:contexts.txt,replies.txt -m length -o out --no-cache --empty nan {_ONE}", "shapes/contexts.txt:contexts.txt shapes/replies.txt:replies.txt"),
    Case("agreement thumbs.csv --resamples 100 --system a --format json", "shapes/thumbs.csv:thumbs.csv"),
    Case("explain semicolon.csv --response 1 -m length --system a", "shapes/semicolon.csv:semicolon.csv", refusal="1"),
)  # fmt: skip
CASES = (
    Case(f"score chats.jsonl -m bleu -m length -m distinct -o out --no-cache --matched --dialogues --format json {_ONE}", "chats.jsonl"),
    Case(f"score openai.jsonl -m length -m context_overlap -o out --no-cache --format json {_ONE}", "openai.jsonl"),
    Case(f"score chats.parquet -m rouge_l -m self_bleu -o out --no-cache --format json {_ONE}", "chats.parquet"),
    Case(f"score shards-in -m length -o out --no-cache --format json {_ONE}", "parquet-shards:shards-in"),
    Case(f"score chats.jsonl -m judge(rubric='rubric.toml') -o out --no-cache {_ONE}", "chats.jsonl rubric.toml", "rubric.toml", "rejoinder models get"),
    Case(f"score - -m chrf -o out --no-cache --empty nan --format json {_ONE} <chats.jsonl", "chats.jsonl"),
    *_SHAPE_CASES,
    Case("compare run --format json", "run"),
    Case("compare chats.jsonl --preferences --format json", "chats.jsonl"),
    Case(f"trust run --resamples 100 --format json {_ONE}", "run"),
    Case(f"trust run --resamples 100 --method kendall --test permutation --aspect apt --format json {_ONE}", "run"),
    Case("check run --min bleu>=0.1 --no-worse-than old -m bleu --junit out.xml --markdown out.md", "run old"),
    Case("compare old run --format json", "run old"),
    Case("compare chats.jsonl chats.jsonl -m rating:apt --format json", "chats.jsonl"),
    Case("report run -o out.html", "run"),
    Case("report run --format json", "run"),
    Case("report selected --format json", "selected"),
    Case("explain chats.jsonl --response i0/a -m bleu --format json", "chats.jsonl"),
    Case("agreement chats.jsonl --resamples 100 --format json", "chats.jsonl"),
    Case("agreement run --resamples 100 --above 2 --scale ratio --format json", "run", "run/data.jsonl"),
    Case("aggregate chats.jsonl -o out.jsonl --all", "chats.jsonl"),
    Case("aggregate chats.jsonl -o out.jsonl --method dawid_skene", "chats.jsonl"),
    Case("aggregate chats.jsonl -o out.jsonl --method minimax_entropy_ordinal", "chats.jsonl", heavy=True),
    Case("power chats.jsonl --aspect apt --difference 0.5 --format json", "chats.jsonl"),
    Case("power run -m bleu --format json", "run"),
    Case("next old -n 3 --by metrics -o out.csv --format json", "old"),
    Case("next chats.jsonl --aspect apt -n 3 -o out.jsonl --format json", "chats.jsonl"),
    Case("next old --for estimate -n 3 -o out.jsonl --format json", "old"),
    Case("estimate run -m bleu --ratings chats.jsonl --aspect apt --above 2 --assume-random --format json", "run chats.jsonl"),
    Case("estimate run -m length --ratings ratings.csv --strata bleu --population future --assume-random --format json", "run ratings.csv", "ratings.csv"),
    Case("power run --with-metric -m bleu --aspect apt --half-width 0.5 --format json", "run"),
    Case("arena chats.jsonl --judge m -o out.jsonl --format json", "chats.jsonl", refusal="REJOINDER_JUDGE_URL"),
    Case("judge run -o out.jsonl --format json", "run", refusal="no judge"),
    Case(f"import csv table.csv -o out.jsonl {_FIELDS}", "table.csv"),
    Case(f"import tsv table.tsv -o out.jsonl {_FIELDS}", "table.tsv"),
    Case(f"import jsonl rows.jsonl -o out.jsonl {_FIELDS} --field rater=who --empty keep", "rows.jsonl"),
    Case("import openai openai.jsonl -o out.jsonl", "openai.jsonl"),
    Case("import dailydialog daily.txt -o out.jsonl --as items", "daily.txt"),
    Case("import parlai parlai.txt -o out.jsonl", "parlai.txt"),
    Case("import convokit corpus -o out.jsonl", "corpus"),
    Case("import dstc10 dstc10.json -o out.jsonl", "dstc10.json"),
    Case("import parquet table.parquet -o out.jsonl --field response=response --field context=context", "table.parquet"),
    Case(f"import huggingface saved -o out.jsonl {_FIELDS}", "saved"),
    Case("augment chats.jsonl --corpus dialogues.jsonl --no-comet -k 2 -o out.jsonl --format json", "chats.jsonl dialogues.jsonl"),
    Case("augment chats.jsonl --corpus dialogues.jsonl --knowledge atomic.tsv --no-comet -k 2 -o out.jsonl --review out.csv", "chats.jsonl dialogues.jsonl atomic.tsv", "atomic.tsv"),
    Case("augment more.jsonl --reviewed review.csv -o out.jsonl", "more.jsonl review.csv"),
    Case("propose chats.jsonl --corpus dialogues.jsonl --source bm25 -k 2 -o out.jsonl", "chats.jsonl dialogues.jsonl"),
    Case("build out.jsonl --from dialogues.jsonl --repository utterances.txt --source bm25(query='reply') --judge-with none --second none --pool 4 --false 1 --format json", "dialogues.jsonl utterances.txt"),
    Case("build out.jsonl --pools set.pools.jsonl --people sheet.csv --judge-with none --false 1 --format json", "set.pools.jsonl set.pools.card.json sheet.csv"),
    Case("build out.jsonl --from dialogues.jsonl --repository dialogues.jsonl --random --format json", "dialogues.jsonl"),
    Case("select questions.jsonl --system tfidf -o out --order-checks 2 --format json", "questions.jsonl"),
    Case("select selected --format json", "selected"),
    Case("rank graded.jsonl --ranker tfidf -o out --write orders.jsonl --format json", "graded.jsonl"),
    Case("rank graded.jsonl --ranker tfidf --train questions.jsonl -o out --all-questions --format json", "graded.jsonl questions.jsonl"),
    Case("label questions.jsonl --suggest -o out.jsonl", "questions.jsonl"),
    Case("label questions.jsonl --from labels.csv -o out.jsonl", "questions.jsonl labels.csv"),
    Case("label questions.jsonl --measure --format json", "questions.jsonl"),
    Case("export questions.jsonl --to lm-eval -o out", "questions.jsonl"),
    Case("export questions.jsonl --to inspect -o out", "questions.jsonl"),
    Case("situate seeds situated.jsonl -o out.jsonl", "situated.jsonl"),
    Case("situate build seeds.jsonl -o out.jsonl --rounds 0 --statements 2 --format json --contradictions keywords.toml", "seeds.jsonl keywords.toml"),
    Case("situate project grade situated.jsonl -o out.toml --write-csv out.csv", "situated.jsonl"),
    Case("situate project complete seeds.jsonl -o out.toml", "seeds.jsonl"),
    Case("situate grade situated.jsonl --people grades.csv -o out.jsonl", "situated.jsonl grades.csv"),
    Case("annotate project.toml --no-serve --raters ann,bob --database out.db", "project.toml chats.jsonl"),
    Case("annotate project.toml --import crowdkit --file said.csv --database out.db", "project.toml chats.jsonl said.csv"),
    Case("annotate project.toml --export labelstudio --file out.json --database out.db", "project.toml chats.jsonl"),
    Case("agreement project.toml --resamples 100 --format json", "project.toml chats.jsonl chats.sqlite", "project.toml chats.jsonl"),
    Case("index build dialogues.jsonl -o out", "dialogues.jsonl"),
    Case("index search index tea --format json", "index"),
    Case("index add index later.jsonl", "index later.jsonl"),
    Case("index check index", "index"),
    Case("shards write chats.jsonl -o out --records 10", "chats.jsonl"),
    Case(f"shards check shards {_ONE}", "shards"),
    Case(f"shards catalogue parquet-shards {_ONE}", "parquet-shards"),
    Case("speakers dialogues.jsonl --encoder tfidf --sets 20 -o out.svg --format json", "dialogues.jsonl"),
    Case("embed utterances.txt -o out.npy", "utterances.txt"),
    Case("embed dialogues.jsonl -o out.parquet", "dialogues.jsonl", heavy=True),
    Case("attack dialogues.jsonl -m length -m context_overlap --contexts 5 --split train -o out.json --format json", "dialogues.jsonl"),
    Case("train idk dialogues.jsonl -o out --contexts 3", "dialogues.jsonl"),
    Case("train ssrem --corpus dialogues.jsonl -o out --epochs 1", "dialogues.jsonl", heavy=True),
    Case("train comet atomic.tsv --valid atomic.tsv -o out", "atomic.tsv", refusal="rejoinder models get"),
    Case("train ranker --train graded.jsonl --valid held.jsonl -o out --encoder hf:nowhere --kind cross", "graded.jsonl held.jsonl", refusal="nowhere"),
    Case("data write dailydialog/test -o out.jsonl --no-verify", "daily.txt:corpora/dailydialog/dialogues_test.txt"),
    Case("data show dailydialog/test", "daily.txt:corpora/dailydialog/dialogues_test.txt"),
)  # fmt: skip
