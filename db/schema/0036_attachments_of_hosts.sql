-- What a host has attached.
CREATE INDEX attachments_of_host ON attachments (attached_host) WHERE attached_host IS NOT NULL;
