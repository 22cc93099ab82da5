-- A store as the version of commit 46f8f8d left it when its process was killed: schema 4, six tasks under way.
CREATE SCHEMA stepward_shop;
CREATE FUNCTION stepward_shop.miss(part text) RETURNS double precision
    LANGUAGE plpgsql
    AS $$
begin
    raise exception using errcode = 'SW001', message = part;
end $$;
CREATE TABLE stepward_shop.agent (
    name text NOT NULL COLLATE pg_catalog."C",
    suspended_at double precision,
    suspended_by text,
    note text,
    opened_at double precision,
    asks_at double precision,
    probe_by text COLLATE pg_catalog."C",
    CONSTRAINT agent_open CHECK (((opened_at IS NULL) = (asks_at IS NULL))),
    CONSTRAINT agent_probe CHECK (((probe_by IS NULL) OR (opened_at IS NOT NULL))),
    CONSTRAINT agent_suspended CHECK (((suspended_at IS NULL) = (suspended_by IS NULL)))
);
CREATE TABLE stepward_shop.alert (
    number bigint NOT NULL,
    at double precision NOT NULL,
    kind text NOT NULL,
    task text COLLATE pg_catalog."C",
    task_id text,
    step text,
    message text NOT NULL,
    details bytea NOT NULL,
    delivered_at double precision,
    tries integer NOT NULL,
    acknowledged_at double precision,
    acknowledged_by text,
    next_try double precision NOT NULL,
    CONSTRAINT alert_acknowledged CHECK (((acknowledged_at IS NULL) = (acknowledged_by IS NULL)))
);
ALTER TABLE stepward_shop.alert ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME stepward_shop.alert_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stepward_shop.audit (
    number bigint NOT NULL,
    at double precision NOT NULL,
    actor text NOT NULL,
    act text NOT NULL,
    task text COLLATE pg_catalog."C",
    step text,
    before text,
    after text,
    details bytea NOT NULL,
    hash bytea NOT NULL
);
ALTER TABLE stepward_shop.audit ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME stepward_shop.audit_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stepward_shop.dead_letter (
    number bigint NOT NULL,
    queue text NOT NULL,
    body bytea NOT NULL,
    reason text NOT NULL,
    tries integer NOT NULL,
    buried_at double precision NOT NULL
);
ALTER TABLE stepward_shop.dead_letter ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME stepward_shop.dead_letter_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stepward_shop.inbox (
    number bigint NOT NULL,
    task text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    name text NOT NULL,
    body bytea NOT NULL,
    sender text NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    CONSTRAINT inbox_kind_check CHECK ((kind = ANY (ARRAY['signal'::text, 'undo'::text, 'cancel'::text, 'suspend'::text, 'fail'::text, 'step'::text, 'child'::text, 'reply'::text])))
);
ALTER TABLE stepward_shop.inbox ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME stepward_shop.inbox_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stepward_shop.instance (
    id text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    serves text NOT NULL,
    started_at double precision NOT NULL,
    expires_at double precision NOT NULL,
    alive boolean NOT NULL,
    capacity integer NOT NULL,
    renewed_at double precision NOT NULL,
    silent_at double precision,
    dead_at double precision,
    health text DEFAULT '[]'::text NOT NULL,
    demand text DEFAULT '{}'::text NOT NULL,
    CONSTRAINT instance_dead CHECK (((dead_at IS NULL) = alive)),
    CONSTRAINT instance_role_check CHECK ((role = ANY (ARRAY['scheduler'::text, 'agent'::text, 'supervisor'::text, 'submission'::text])))
)
WITH (fillfactor='50');
CREATE TABLE stepward_shop.leadership (
    seat integer NOT NULL,
    instance text NOT NULL,
    term integer NOT NULL,
    expires_at double precision NOT NULL,
    CONSTRAINT leadership_seat_check CHECK ((seat = 1))
);
CREATE TABLE stepward_shop.message (
    token bigint NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    body bytea NOT NULL,
    expires_at double precision,
    taken_until double precision DEFAULT 0.0 NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE stepward_shop.message ALTER COLUMN token ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME stepward_shop.message_token_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stepward_shop.meta (
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL
);
CREATE TABLE stepward_shop.schedule (
    name text NOT NULL COLLATE pg_catalog."C",
    workflow text NOT NULL,
    version text NOT NULL,
    input bytea NOT NULL,
    cron text NOT NULL,
    timezone text NOT NULL,
    catch_up text NOT NULL,
    priority integer NOT NULL,
    complete_seconds double precision,
    next_at double precision,
    fired_at double precision,
    paused_at double precision,
    fairness_key text,
    CONSTRAINT schedule_catch_up_check CHECK ((catch_up = ANY (ARRAY['one'::text, 'all'::text, 'none'::text])))
);
CREATE TABLE stepward_shop.signal_seen (
    task text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE stepward_shop.step (
    task text NOT NULL COLLATE pg_catalog."C",
    run integer NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    number integer NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    agent text,
    attempt integer NOT NULL,
    failure_count integer NOT NULL,
    complete_by double precision,
    complete_seconds double precision,
    started_at double precision,
    finished_at double precision,
    repeat_at double precision,
    ordinal integer,
    input bytea NOT NULL,
    output bytea,
    error bytea,
    has_undo boolean NOT NULL,
    irreversible boolean NOT NULL,
    in_doubt boolean NOT NULL,
    watched boolean NOT NULL,
    generation integer NOT NULL,
    progress bytea,
    progress_at double precision,
    deferred_at double precision,
    CONSTRAINT step_attempt_check CHECK ((attempt >= 0)),
    CONSTRAINT step_failure_count_check CHECK ((failure_count >= 0)),
    CONSTRAINT step_generation_check CHECK ((generation >= 0)),
    CONSTRAINT step_kind_check CHECK ((kind = ANY (ARRAY['operation'::text, 'undo'::text, 'local'::text, 'transaction'::text, 'child'::text, 'timer'::text, 'signal'::text, 'value'::text]))),
    CONSTRAINT step_started CHECK (((attempt > 0) OR (state <> 'running'::text))),
    CONSTRAINT step_state_check CHECK ((state = ANY (ARRAY['running'::text, 'completed'::text, 'not_started'::text, 'to_repeat'::text, 'failed'::text, 'abandoned'::text, 'skipped'::text, 'undone'::text])))
)
WITH (fillfactor='70');
CREATE TABLE stepward_shop.task (
    uid text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    workflow text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    priority integer NOT NULL,
    fairness_key text,
    labels bytea NOT NULL,
    run integer NOT NULL,
    input bytea NOT NULL,
    output bytea,
    error bytea,
    locked_by text COLLATE pg_catalog."C",
    complete_by double precision,
    wake_at double precision,
    waits_for text,
    undo_to text,
    inbox integer NOT NULL,
    failure_count integer NOT NULL,
    recovery_count integer NOT NULL,
    parent text COLLATE pg_catalog."C",
    parent_run integer,
    parent_step text,
    reply_to text,
    created_at double precision NOT NULL,
    started_at double precision,
    finished_at double precision,
    events integer DEFAULT 0 NOT NULL,
    CONSTRAINT task_failure_count_check CHECK ((failure_count >= 0)),
    CONSTRAINT task_finished CHECK (((finished_at IS NOT NULL) = (state = ANY (ARRAY['processed'::text, 'undone'::text, 'cancelled'::text, 'error'::text])))),
    CONSTRAINT task_inbox_check CHECK ((inbox >= 0)),
    CONSTRAINT task_owned CHECK (((locked_by IS NULL) OR ((finished_at IS NULL) AND (state <> 'pending'::text)))),
    CONSTRAINT task_owner CHECK (((locked_by IS NOT NULL) OR (state <> 'processing'::text))),
    CONSTRAINT task_recovery_count_check CHECK ((recovery_count >= 0)),
    CONSTRAINT task_run_check CHECK ((run >= 1)),
    CONSTRAINT task_state_check CHECK ((state = ANY (ARRAY['processing'::text, 'processed'::text, 'pending'::text, 'waiting'::text, 'suspended'::text, 'undoing'::text, 'undone'::text, 'cancelled'::text, 'error'::text]))),
    CONSTRAINT task_undo CHECK (((undo_to IS NOT NULL) OR (state <> ALL (ARRAY['undoing'::text, 'undone'::text])))),
    CONSTRAINT task_undo_to_check CHECK ((undo_to = ANY (ARRAY['undone'::text, 'cancelled'::text])))
)
WITH (fillfactor='70');
CREATE TABLE stepward_shop.workflow (
    name text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    schema bytea NOT NULL,
    policy bytea NOT NULL,
    complete_seconds double precision,
    plan bytea,
    registered_at double precision NOT NULL
);
INSERT INTO stepward_shop.agent VALUES ('parcels', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO stepward_shop.agent VALUES ('payments', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO stepward_shop.instance VALUES ('agent-01a215e3-42f3-7d9f-bc4f-44a931fca122', 'agent', 'vm', 2792, '["payments","parcels"]', 1795663545.0758042, 1795663558.4349837, true, 128, 1795663548.4349837, NULL, NULL, '[{"agent":"payments","capacity":64,"in_flight":1,"stuck":0,"breaker":"closed"},{"agent":"parcels","capacity":64,"in_flight":2,"stuck":0,"breaker":"closed"}]', '{}');
INSERT INTO stepward_shop.instance VALUES ('scheduler-01a215e3-4301-78c8-a169-e03fead7b20d', 'scheduler', 'vm', 2792, '["fulfil@1","approved@1","later@1","parent@1"]', 1795663545.0901322, 1795663558.4349837, true, 1000, 1795663548.4349837, NULL, NULL, '[]', '{"payments":1,"parcels":2}');
INSERT INTO stepward_shop.instance VALUES ('supervisor-01a215e3-4307-746c-9e5c-14bb9fda5894', 'supervisor', 'vm', 2792, '[]', 1795663545.095352, 1795663558.4349837, true, 0, 1795663548.4349837, NULL, NULL, '[]', '{}');
INSERT INTO stepward_shop.leadership VALUES (1, 'supervisor-01a215e3-4307-746c-9e5c-14bb9fda5894', 1, 1795663556.1002533);
INSERT INTO stepward_shop.meta VALUES ('app', 'shop');
INSERT INTO stepward_shop.meta VALUES ('schema_version', '4');
INSERT INTO stepward_shop.meta VALUES ('completion_key', '0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO stepward_shop.step VALUES ('01a215e3-430b-7ea9-ab98-f97d52d3a341', 1, 'payments.charge/1', 1, 'payments.charge', 'operation', 'completed', 'payments', 1, 0, 1795667145.0954523, 3600, 1795663545.0954523, 1795663545.329951, NULL, 1, '\x5b227368697070696e67225d', '\x226368617267652d7368697070696e6722', NULL, true, false, false, false, 0, NULL, NULL, NULL);
INSERT INTO stepward_shop.step VALUES ('01a215e3-441d-7544-b9f4-ff82b817d707', 1, 'fulfil/1', 1, 'fulfil', 'child', 'running', NULL, 1, 0, NULL, NULL, 1795663545.3740087, NULL, NULL, NULL, '\x5b2266616d696c79225d', NULL, NULL, false, false, false, false, 0, NULL, NULL, NULL);
INSERT INTO stepward_shop.step VALUES ('01a215e3-43f0-714c-b84f-80ad4ef16e2a', 1, 'payments.charge/1', 1, 'payments.charge', 'operation', 'completed', 'payments', 1, 0, 1795667145.3288589, 3600, 1795663545.3288589, 1795663545.3475912, NULL, 1, '\x5b2277616974696e67225d', '\x226368617267652d77616974696e6722', NULL, true, false, false, false, 0, NULL, NULL, NULL);
INSERT INTO stepward_shop.step VALUES ('01a215e3-4402-7be2-843b-073a864a4c5e', 1, 'payments.charge/1', 1, 'payments.charge', 'operation', 'completed', 'payments', 1, 0, 1795667145.3468268, 3600, 1795663545.3468268, 1795663545.374946, NULL, 1, '\x5b22736c656570696e67225d', '\x226368617267652d736c656570696e6722', NULL, true, false, false, false, 0, NULL, NULL, NULL);
INSERT INTO stepward_shop.step VALUES ('01a215e3-441d-7544-b9f4-ff82b817d707/1/fulfil/1', 1, 'payments.charge/1', 1, 'payments.charge', 'operation', 'completed', 'payments', 1, 0, 1795667145.4234734, 3600, 1795663545.4234734, 1795663545.5359867, NULL, 1, '\x5b2266616d696c79225d', '\x226368617267652d66616d696c7922', NULL, true, false, false, false, 0, NULL, NULL, NULL);
INSERT INTO stepward_shop.step VALUES ('01a215e3-4518-76ac-ad69-69b1953e733f', 1, 'payments.charge/1', 1, 'payments.charge', 'operation', 'completed', 'payments', 1, 0, 1795667145.6249402, 3600, 1795663545.6249402, 1795663545.6649961, NULL, 1, '\x5b2272656675736564225d', '\x226368617267652d7265667573656422', NULL, true, false, false, false, 0, NULL, NULL, NULL);
INSERT INTO stepward_shop.step VALUES ('01a215e3-4518-76ac-ad69-69b1953e733f', 1, 'parcels.ship/1', 2, 'parcels.ship', 'operation', 'failed', 'parcels', 1, 0, 1795667145.6649961, 3600, 1795663545.6649961, 1795663545.6790037, NULL, 2, '\x5b2272656675736564225d', NULL, '\x7b2264617461223a7b7d2c226d657373616765223a226e6f206164647265737320746f207368697020746f222c2274797065223a22556e7265636f76657261626c65227d', false, false, false, false, 0, NULL, NULL, NULL);
INSERT INTO stepward_shop.step VALUES ('01a215e3-430b-7ea9-ab98-f97d52d3a341', 1, 'parcels.ship/1', 2, 'parcels.ship', 'operation', 'running', 'parcels', 1, 0, 1795667145.329951, 3600, 1795663545.329951, NULL, NULL, NULL, '\x5b227368697070696e67225d', NULL, NULL, false, false, false, true, 0, NULL, NULL, NULL);
INSERT INTO stepward_shop.step VALUES ('01a215e3-441d-7544-b9f4-ff82b817d707/1/fulfil/1', 1, 'parcels.ship/1', 2, 'parcels.ship', 'operation', 'running', 'parcels', 1, 0, 1795667145.5359867, 3600, 1795663545.5359867, NULL, NULL, NULL, '\x5b2266616d696c79225d', NULL, NULL, false, false, false, true, 0, NULL, NULL, NULL);
INSERT INTO stepward_shop.step VALUES ('01a215e3-4518-76ac-ad69-69b1953e733f', 1, 'payments.charge/1~undo', 1, 'payments.charge', 'undo', 'running', 'payments', 1, 0, 1795667145.7390199, 3600, 1795663545.7390199, NULL, NULL, NULL, '\x5b226368617267652d72656675736564222c2272656675736564225d', NULL, NULL, false, false, false, true, 0, NULL, NULL, NULL);
INSERT INTO stepward_shop.task VALUES ('01a215e3-430b-7ea9-ab98-f97d52d3a341', 'shipping', 'fulfil', '1', 'processing', 5, NULL, '\x7b7d', 1, '\x5b227368697070696e67225d', NULL, NULL, 'scheduler-01a215e3-4301-78c8-a169-e03fead7b20d', NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, 1795663545.10013, 1795663545.0954523, NULL, 0);
INSERT INTO stepward_shop.task VALUES ('01a215e3-43f0-714c-b84f-80ad4ef16e2a', 'waiting', 'approved', '1', 'waiting', 5, NULL, '\x7b7d', 1, '\x5b2277616974696e67225d', NULL, NULL, 'scheduler-01a215e3-4301-78c8-a169-e03fead7b20d', NULL, NULL, 'signal approval', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, 1795663545.3287213, 1795663545.3288589, NULL, 0);
INSERT INTO stepward_shop.task VALUES ('01a215e3-441d-7544-b9f4-ff82b817d707', 'family', 'parent', '1', 'waiting', 5, NULL, '\x7b7d', 1, '\x5b2266616d696c79225d', NULL, NULL, 'scheduler-01a215e3-4301-78c8-a169-e03fead7b20d', NULL, NULL, 'fulfil/1', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, 1795663545.3738544, 1795663545.3740087, NULL, 0);
INSERT INTO stepward_shop.task VALUES ('01a215e3-441d-7544-b9f4-ff82b817d707/1/fulfil/1', 'family/fulfil/1', 'fulfil', '1', 'processing', 5, NULL, '\x7b7d', 1, '\x5b2266616d696c79225d', NULL, NULL, 'scheduler-01a215e3-4301-78c8-a169-e03fead7b20d', NULL, NULL, NULL, NULL, 0, 0, 0, '01a215e3-441d-7544-b9f4-ff82b817d707', 1, 'fulfil/1', NULL, 1795663545.3740087, 1795663545.4360883, NULL, 0);
INSERT INTO stepward_shop.task VALUES ('01a215e3-4402-7be2-843b-073a864a4c5e', 'sleeping', 'later', '1', 'waiting', 5, NULL, '\x7b7d', 1, '\x5b22736c656570696e67225d', NULL, NULL, 'scheduler-01a215e3-4301-78c8-a169-e03fead7b20d', NULL, 1795663605.374946, 'timer', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, 1795663545.3466854, 1795663545.3468268, NULL, 0);
INSERT INTO stepward_shop.task VALUES ('01a215e3-4518-76ac-ad69-69b1953e733f', 'refused', 'fulfil', '1', 'undoing', 5, NULL, '\x7b7d', 1, '\x5b2272656675736564225d', NULL, '\x7b2264617461223a7b7d2c226d617962655f646f6e65223a66616c73652c226d657373616765223a226e6f206164647265737320746f207368697020746f222c2273746570223a2270617263656c732e736869702f31222c2274797065223a22537465704661696c6564227d', 'scheduler-01a215e3-4301-78c8-a169-e03fead7b20d', NULL, NULL, NULL, 'undone', 0, 0, 0, NULL, NULL, NULL, NULL, 1795663545.6247897, 1795663545.6249402, NULL, 0);
INSERT INTO stepward_shop.workflow VALUES ('approved', '1', '\x7b222464656673223a7b22417267756d656e7473223a7b226d61784974656d73223a312c226d696e4974656d73223a312c227072656669784974656d73223a5b7b2274797065223a22737472696e67227d5d2c227469746c65223a22417267756d656e7473222c2274797065223a226172726179227d7d2c2224726566223a22232f24646566732f417267756d656e7473227d', '\x7b226261636b6f6666223a5b312e302c322e302c36302e305d2c227468656e223a22616c657274222c227468726573686f6c64223a337d', NULL, NULL, 1795663545.0710046);
INSERT INTO stepward_shop.workflow VALUES ('fulfil', '1', '\x7b222464656673223a7b22417267756d656e7473223a7b226d61784974656d73223a312c226d696e4974656d73223a312c227072656669784974656d73223a5b7b2274797065223a22737472696e67227d5d2c227469746c65223a22417267756d656e7473222c2274797065223a226172726179227d7d2c2224726566223a22232f24646566732f417267756d656e7473227d', '\x7b226261636b6f6666223a5b312e302c322e302c36302e305d2c227468656e223a22756e646f222c227468726573686f6c64223a337d', NULL, NULL, 1795663545.0710046);
INSERT INTO stepward_shop.workflow VALUES ('later', '1', '\x7b222464656673223a7b22417267756d656e7473223a7b226d61784974656d73223a312c226d696e4974656d73223a312c227072656669784974656d73223a5b7b2274797065223a22737472696e67227d5d2c227469746c65223a22417267756d656e7473222c2274797065223a226172726179227d7d2c2224726566223a22232f24646566732f417267756d656e7473227d', '\x7b226261636b6f6666223a5b312e302c322e302c36302e305d2c227468656e223a22616c657274222c227468726573686f6c64223a337d', NULL, NULL, 1795663545.0710046);
INSERT INTO stepward_shop.workflow VALUES ('parent', '1', '\x7b222464656673223a7b22417267756d656e7473223a7b226d61784974656d73223a312c226d696e4974656d73223a312c227072656669784974656d73223a5b7b2274797065223a22737472696e67227d5d2c227469746c65223a22417267756d656e7473222c2274797065223a226172726179227d7d2c2224726566223a22232f24646566732f417267756d656e7473227d', '\x7b226261636b6f6666223a5b312e302c322e302c36302e305d2c227468656e223a22616c657274222c227468726573686f6c64223a337d', NULL, NULL, 1795663545.0710046);
SELECT pg_catalog.setval('stepward_shop.alert_number_seq', 1, false);
SELECT pg_catalog.setval('stepward_shop.audit_number_seq', 1, false);
SELECT pg_catalog.setval('stepward_shop.dead_letter_number_seq', 1, false);
SELECT pg_catalog.setval('stepward_shop.inbox_number_seq', 1, false);
SELECT pg_catalog.setval('stepward_shop.message_token_seq', 1, false);
ALTER TABLE ONLY stepward_shop.agent
    ADD CONSTRAINT agent_pkey PRIMARY KEY (name);
ALTER TABLE ONLY stepward_shop.alert
    ADD CONSTRAINT alert_pkey PRIMARY KEY (number);
ALTER TABLE ONLY stepward_shop.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (number);
ALTER TABLE ONLY stepward_shop.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (number);
ALTER TABLE ONLY stepward_shop.inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (number);
ALTER TABLE ONLY stepward_shop.instance
    ADD CONSTRAINT instance_pkey PRIMARY KEY (id);
ALTER TABLE ONLY stepward_shop.leadership
    ADD CONSTRAINT leadership_pkey PRIMARY KEY (seat);
ALTER TABLE ONLY stepward_shop.message
    ADD CONSTRAINT message_pkey PRIMARY KEY (token);
ALTER TABLE ONLY stepward_shop.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (key);
ALTER TABLE ONLY stepward_shop.schedule
    ADD CONSTRAINT schedule_pkey PRIMARY KEY (name);
ALTER TABLE ONLY stepward_shop.signal_seen
    ADD CONSTRAINT signal_seen_pkey PRIMARY KEY (task, name, id);
ALTER TABLE ONLY stepward_shop.step
    ADD CONSTRAINT step_pkey PRIMARY KEY (task, run, key);
ALTER TABLE ONLY stepward_shop.task
    ADD CONSTRAINT task_id_key UNIQUE (id);
ALTER TABLE ONLY stepward_shop.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY stepward_shop.workflow
    ADD CONSTRAINT workflow_pkey PRIMARY KEY (name, version);
CREATE INDEX alert_open ON stepward_shop.alert USING btree (number) WHERE (acknowledged_at IS NULL);
CREATE INDEX alert_undelivered ON stepward_shop.alert USING btree (next_try) WHERE (delivered_at IS NULL);
CREATE INDEX audit_task ON stepward_shop.audit USING btree (task) WHERE (task IS NOT NULL);
CREATE INDEX inbox_task ON stepward_shop.inbox USING btree (task);
CREATE INDEX inbox_xid ON stepward_shop.inbox USING btree (xid);
CREATE INDEX message_queue ON stepward_shop.message USING btree (queue, taken_until, token);
CREATE INDEX schedule_due ON stepward_shop.schedule USING btree (next_at) WHERE ((paused_at IS NULL) AND (next_at IS NOT NULL));
CREATE INDEX step_watched ON stepward_shop.step USING btree (complete_by) WHERE watched;
CREATE INDEX task_claimable ON stepward_shop.task USING btree (workflow, version, priority DESC, COALESCE(fairness_key, ''::text) COLLATE "C", uid) WHERE ((locked_by IS NULL) AND (wake_at IS NULL) AND (state = ANY (ARRAY['pending'::text, 'undoing'::text])));
CREATE INDEX task_deadline ON stepward_shop.task USING btree (complete_by) WHERE ((complete_by IS NOT NULL) AND (finished_at IS NULL) AND (state <> 'undoing'::text));
CREATE INDEX task_finished ON stepward_shop.task USING btree (finished_at) WHERE ((finished_at IS NOT NULL) AND (state <> 'error'::text));
CREATE INDEX task_held ON stepward_shop.task USING btree (locked_by) WHERE (locked_by IS NOT NULL);
CREATE INDEX task_listed ON stepward_shop.task USING btree (state, uid) WHERE (state <> ALL (ARRAY['processing'::text, 'processed'::text, 'undone'::text, 'cancelled'::text]));
CREATE INDEX task_waking ON stepward_shop.task USING btree (wake_at) WHERE ((locked_by IS NULL) AND (wake_at IS NOT NULL) AND (state = ANY (ARRAY['pending'::text, 'waiting'::text, 'undoing'::text])));
