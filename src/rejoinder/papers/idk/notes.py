"""The sentences under the tables of IDK: how it was measured, and where the paper and its program differ."""

from __future__ import annotations

NOTES = (
    "Trained here on substitutes, since HUMOD's train split and all of Topical-Chat are not public here: 3,750 "
    "contexts of Cornell's films for H and 3,750 of our Topical-Chat for TC-S, split train. Three runs; a seed "
    "decides the first weights and the order of the dialogues.",
    "Vectors: the cross-encoder of aptness before its head (384 numbers) where the paper has BERT's pooled "
    'next-sentence feature (768). It was trained on replies, with generic ones such as "i don\'t know" among its '
    "negatives; BERT was not, so the two are not alike in what a fixed negative can show.",
    "A step's loss is the sum over six dialogues plus the whole penalty, as in the authors' released program.",
    "The triplet loss is max(y(c, r') - y(c, r) + m, 0) with r' the negative; Appendix H prints it the other way "
    "round, which is right only where y is the probability of a false reply, as in the authors' program.",
    "Random negatives are the shuffled replies of the next 3,750 contexts, as section 5.2 says. The authors' "
    "program takes HUMOD's own distractors for H, and for TC-S the next 3,750 replies with their own contexts, "
    "which are true pairs: this may be why the printed rows of TC-S with random negatives vary so much.",
    "Validation rows: the 30 contexts of USR that are not among the test rows; HUMOD's are not public here.",
    "Prior metrics: COS-FT with GloVe for fastText, COS-MAX and COS-NSP with the encoder of aptness for BERT, "
    "NORM-PROB and FED with SmolLM2-135M for GPT-2 and DialoGPT; GRADE and DYNA-EVAL are printed only.",
    "NUP-BERT (H) is one network as rejoinder train nup makes it: the encoder of aptness's cross-encoder for BERT, "
    "fine-tuned on 3,750 contexts of Cornell's films. That encoder had learned to judge replies before, BERT had not.",
    "Intervals of Tables 2 and 8: 95% bootstrap, 1,000 resamples of whole dialogues where they are known (USR, FED), "
    "else of contexts.",
)
SAMPLED = (
    "NORM-PROB and FED ask a language model, which takes a second or more a reply on a CPU: they are measured on "
    "{rows} rows of each column, drawn once by the column's seed (the same replies of FED-cor and FED-rel), so their "
    "intervals are wide. NORM-PROB's 5th percentile is that of the sample. On all rows: rejoinder reproduce idk "
    "-m norm_prob -m fed."
)
