-- Projects, their units, who may come in, who holds what, and what was judged. Plain enough for both databases.

CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    form TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL
);

CREATE TABLE units (
    project TEXT NOT NULL REFERENCES projects (id),
    id TEXT NOT NULL,
    place BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('unit', 'gold', 'attention', 'exercise')),
    payload TEXT NOT NULL,
    hidden TEXT NOT NULL,
    retired BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (project, id)
);

-- A token's sha256 only; who came through an entrance has none.
CREATE TABLE raters (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'rater', 'entrance')),
    token TEXT UNIQUE,
    created DOUBLE PRECISION NOT NULL,
    expires DOUBLE PRECISION,
    revoked BIGINT NOT NULL DEFAULT 0,
    entrance TEXT REFERENCES raters (id),
    UNIQUE (project, name)
);

-- A slot is one of the places that a unit has for raters; checks, exercises and expired assignments hold none.
CREATE TABLE assignments (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    unit TEXT NOT NULL,
    rater TEXT NOT NULL REFERENCES raters (id),
    attempt BIGINT NOT NULL DEFAULT 1,
    slot BIGINT,
    state TEXT NOT NULL CHECK (state IN ('open', 'done', 'expired')),
    taken DOUBLE PRECISION NOT NULL,
    leased_until DOUBLE PRECISION NOT NULL,
    reopened DOUBLE PRECISION,
    FOREIGN KEY (project, unit) REFERENCES units (project, id),
    UNIQUE (project, unit, slot),
    UNIQUE (project, unit, rater, attempt)
);

CREATE INDEX assignments_of_rater ON assignments (rater, state);

CREATE TABLE judgements (
    id TEXT PRIMARY KEY,
    assignment TEXT NOT NULL REFERENCES assignments (id),
    answer TEXT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    supersedes TEXT UNIQUE REFERENCES judgements (id)
);

-- An assignment has one judgement that supersedes none: sending a form twice cannot make two.
CREATE UNIQUE INDEX judgements_first ON judgements (assignment) WHERE supersedes IS NULL;

CREATE INDEX judgements_of_assignment ON judgements (assignment);
