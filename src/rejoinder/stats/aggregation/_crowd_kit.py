"""Models that crowd-kit computes: votes go over as task, worker and label, and come back as probabilities."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np

from rejoinder.errors import MissingExtraError
from rejoinder.stats.aggregation._votes import Aggregated, Votes, label_units
from rejoinder.stats.arrays import NAN


def aggregate_with_crowd_kit(votes: Votes, model: str, purpose: str, **settings: Any) -> Aggregated:
    """What a class of crowd-kit's says of the votes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            library, pandas = import_module("crowdkit.aggregation"), import_module("pandas")
    except ImportError:
        raise MissingExtraError("crowd-kit", "crowd", purpose) from None
    if len(votes.categories) == 1:
        return label_units(votes, votes.shares)
    # The order in which votes come changes what crowd-kit finds by a little: always the same one.
    order = np.lexsort((votes.rater, votes.unit))
    columns = {"task": votes.unit[order], "worker": votes.rater[order], "label": votes.label[order]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations between it and pandas are no user's affair
        found = getattr(library, model)(**settings).fit_predict_proba(pandas.DataFrame(columns))
    probabilities = np.full((votes.n_units, len(votes.categories)), NAN)
    probabilities[np.ix_(found.index.to_numpy(dtype=np.int64), found.columns.to_numpy(dtype=np.int64))] = found
    return label_units(votes, probabilities)
