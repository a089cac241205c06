"""Models that crowd-kit computes: it receives votes as task, worker and label, and returns probabilities."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np

from rejoinder.errors import MissingExtraError
from rejoinder.stats.aggregation._votes import Aggregated, Votes, label_units
from rejoinder.stats.arrays import NAN


def aggregate_with_crowd_kit(votes: Votes, model: str, purpose: str, **settings: Any) -> Aggregated:
    """The labels that a class of crowd-kit finds for the votes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            library, pandas = import_module("crowdkit.aggregation"), import_module("pandas")
    except ImportError:
        raise MissingExtraError("crowd-kit", "crowd", purpose) from None
    if len(votes.categories) == 1:
        return label_units(votes, votes.shares)
    # The order of the votes changes crowd-kit's result slightly: always use the same one.
    order = np.lexsort((votes.rater, votes.unit))
    columns = {"task": votes.unit[order], "worker": votes.rater[order], "label": votes.label[order]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its deprecation warnings about pandas are not the user's concern
        table = getattr(library, model)(**settings).fit_predict_proba(pandas.DataFrame(columns))
    probabilities = np.full((votes.n_units, len(votes.categories)), NAN)
    probabilities[np.ix_(table.index.to_numpy(dtype=np.int64), table.columns.to_numpy(dtype=np.int64))] = table
    return label_units(votes, probabilities)
