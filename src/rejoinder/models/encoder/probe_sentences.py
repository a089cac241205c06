"""Utterances for comparing two forms of an encoder: short and long ones, questions, names, numbers, odd spelling."""

from __future__ import annotations

_SENTENCES = (
    "Good morning, how did you sleep?",
    "Not too well, the neighbours were loud again.",
    "What time does the train to Lisbon leave?",
    "It was supposed to leave at 9:45, but there is a delay of twenty minutes.",
    "ok",
    "No way!!!",
    "I have never been to Norway, have you?",
    "My sister works there as a nurse, she says the winters are long and the people are kind.",
    "Could you pass me the salt, please?",
    "Sure, here you are.",
    "Did you finish the report for Monday?",
    "Almost; the last two tables are missing because Ravi has not sent me the figures yet.",
    "lol that's sooo funny",
    "I'm sorry to hear about your grandmother.",
    "Thank you. She was ninety-four and she laughed until the end.",
    "Which one do you prefer, the red one or the blue one?",
    "Neither, honestly.",
    "The doctor said I should drink more water and walk for half an hour every day, but who has the time for that?",
    "How much is it?",
    "That will be 12.50 altogether.",
    "Can I pay by card?",
    "We only take cash, there is a machine around the corner next to the bakery.",
    "Have you seen the film everybody is talking about?",
    "Yes, and I fell asleep after the first hour, so please do not ask me how it ends.",
    "The server answered 404 after the update, so we rolled it back.",
    "Happy birthday, Amélie!",
    "Why would anybody want to climb a mountain in the rain?",
    "Because the view from the top, when the clouds open for a minute, is worth every wet step of the way.",
    "I don't know what you are talking about.",
    "Let's meet at the library on Thursday, then.",
    "He plays the cello, she plays the piano and the dog sings.",
    "Stop. Go back. Read the sign again.",
)


def probe_texts() -> list[str]:
    """Return each utterance alone and followed by others: from one word to about a hundred."""
    longer = [
        " ".join(_SENTENCES[(i + k) % len(_SENTENCES)] for k in range(n))
        for n in (2, 3, 8)
        for i in range(len(_SENTENCES))
    ]
    return [*_SENTENCES, *longer]
