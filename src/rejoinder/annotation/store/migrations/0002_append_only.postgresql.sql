-- A judgement is never edited and never deleted, whoever asks.

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a judgement is never edited or deleted, only superseded';
END
$$;

CREATE TRIGGER judgements_stay_as_they_are BEFORE UPDATE OR DELETE OR TRUNCATE ON judgements
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
