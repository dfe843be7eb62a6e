-- What the text of a message's numbers cannot say: one more sentence for the user.
ALTER TABLE messages ADD COLUMN reason TEXT;
