"""The sentences under the tables of SSREM: how it was measured, and what differs from the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rejoinder.papers.ssrem.rows import RatedSet

NOTES = (
    "† The shipped encoder (aptness) was itself trained on the train splits of these corpora, and the shipped scorers "
    "on the corpora of their cards; their figures are no evidence for the paper's idea. GloVe 6B 50d and MiniLM saw "
    "none of these corpora.",
    "The scorers over GloVe and MiniLM are trained here on the train splits of Cornell and Friends together (for "
    "Figure 5 on one of them) and stop by valid; all are measured on test. The paper's corpus (Twitter conversations), "
    "its vectors (GloVe Twitter 200d) and its rated replies are not to be had.",
    "Recipe: that of rejoinder train ssrem, rsrem and ruber; docs/ssrem.md says where it differs from the paper's.",
    "Sets as in section 3.3: SP contains SC, SS contains both; one reply from each a place, the same for all scorers, "
    "none from the context or saying the same as a turn of it. A place without a reply in a set is left out of that "
    "set's figures.",
    "Scores are f, brought to 0 to 1 with bounds of the training data; gap: the difference of the means over the root "
    "of the mean of the two variances; AUC: of all true replies against all of the set; first of five: above all four "
    "at its own place. The scales of the three scorers differ, so gaps and AUCs compare them, not mean scores.",
    "Intervals on held-out dialogues: 95%, cluster-robust by dialogue; of gaps and AUCs by their linear influence "
    "(Obuchowski 1997).",
    "Whole metrics: h is the mean; g is sentence_mover (for RUBER ruber_g) over the same vectors as f. BLEU is "
    "smoothed by method 7, ROUGE is ROUGE-L's F, EMB the embedding average (GloVe for Google News).",
    "Replies that people wrote are left out, as the paper leaves out the ground truth (section 5.1); on USR-TC the "
    "original reply is the reference. HUMOD and P-DD do not say who wrote a reply, so nothing is left out there.",
    "The first five columns of f alone are the test rows of IDK, whose turns are run together: a context there is one "
    "utterance.",
    "Correlations: 95% bootstrap by dialogue or context; p-values as the paper's, as if all replies were independent. "
    "The printed figures are of other replies, rated by other people.",
    "Figures 2 and 4: Gupta stands for Twitter and USR-TC for Movie; the ratings have Gaussian noise (0, .3) for show "
    "only.",
    "Copying: one utterance of what f reads of the context, drawn at random, and the last one. --copies trains with "
    "such a copy as one more negative.",
)


def describe_left_out(judged: Sequence[RatedSet]) -> Iterator[str]:
    """How many replies each set has, was left without, and has no score for."""
    shown = ", ".join(f"{one.name} {len(one.ratings)} ({one.n_left_out})" for one in judged)
    yield f"Replies with a rating (left out, by people): {shown}."
    for one in judged:
        missing = {row: int((values != values).sum()) for row, values in one.scores.items()}
        if any(missing.values()):
            told = ", ".join(f"{row} {n}" for row, n in missing.items() if n)
            yield f"{one.name}: replies without a score, left out for that row: {told}."
