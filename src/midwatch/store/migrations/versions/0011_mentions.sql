-- Mentions: what a person names with @ counts only when it is known that a person did.
ALTER TABLE chat_user_messages ADD COLUMN is_authenticated boolean NOT NULL DEFAULT false;
