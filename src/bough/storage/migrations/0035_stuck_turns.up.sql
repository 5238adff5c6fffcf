-- Whether the running turn is stalled or looping, and since when; null if it is neither.
ALTER TABLE sessions ADD COLUMN stuck TEXT CHECK (stuck IN ('stalled', 'looping'));
ALTER TABLE sessions ADD COLUMN stuck_since TEXT;
-- Whether Bough itself sent the prompt, to nudge the turn that it steers.
ALTER TABLE tasks ADD COLUMN nudge BOOLEAN NOT NULL DEFAULT FALSE;
