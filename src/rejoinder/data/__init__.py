"""Reading and writing: one JSONL schema, importers for foreign formats, loaders for published sets."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.data.collection import collect as collect
    from rejoinder.data.datasets import read_dataset as read_dataset
    from rejoinder.data.importer import ImportOptions as ImportOptions
    from rejoinder.data.importer import ImportTally as ImportTally
    from rejoinder.data.inputs.seeds import Seed as Seed
    from rejoinder.data.inputs.seeds import read_seeds as read_seeds
    from rejoinder.data.shards.files import shards_of as shards_of
    from rejoinder.data.shards.manifest import ShardManifest as ShardManifest

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "collection": ("collect",),
        "datasets": ("read_dataset",),
        "importer": ("ImportOptions", "ImportTally"),
        "inputs.seeds": ("Seed", "read_seeds"),
        "shards.files": ("shards_of",),
        "shards.manifest": ("ShardManifest",),
    },
)
