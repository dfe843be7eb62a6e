-- When an extend last ended whose compute side may report it still.
ALTER TABLE volumes ADD COLUMN extend_unreported_us BIGINT;
