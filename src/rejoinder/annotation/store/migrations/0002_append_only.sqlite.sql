-- A judgement is never edited and never deleted, whoever asks.

CREATE TRIGGER judgements_stay_as_they_are BEFORE UPDATE ON judgements BEGIN
    SELECT RAISE(ABORT, 'a judgement is never edited, only superseded');
END;

CREATE TRIGGER judgements_stay BEFORE DELETE ON judgements BEGIN
    SELECT RAISE(ABORT, 'a judgement is never deleted, only superseded');
END;
