-- One number for what is in use and what is reserved: how much is reserved the reservations say. An
-- extend that ends well then takes its reservations away and leaves alone the row that all share.
ALTER TABLE quota_usages ADD COLUMN used BIGINT NOT NULL DEFAULT 0;
UPDATE quota_usages SET used = in_use + reserved;
ALTER TABLE quota_usages DROP COLUMN in_use;
ALTER TABLE quota_usages DROP COLUMN reserved;
