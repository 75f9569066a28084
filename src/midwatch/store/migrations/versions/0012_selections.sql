-- Selections: ids that an authenticated person has picked with an alert or a question.
ALTER TABLE alert_sessions ADD COLUMN selected_resources text[] NOT NULL DEFAULT '{}';
ALTER TABLE chat_user_messages ADD COLUMN selected_resources text[] NOT NULL DEFAULT '{}';
