-- A store as the version of commit 46f8f8d left it when its process was killed: schema 5, six tasks under way.
PRAGMA application_id=1400139876;
PRAGMA journal_mode=wal;
BEGIN TRANSACTION;
CREATE TABLE stepward_agent (
    name text not null primary key,
    suspended_at real,
    suspended_by text,
    note text,
    opened_at real,
    asks_at real,
    probe_by text,
    constraint agent_suspended check ((suspended_at is null) = (suspended_by is null)),
    constraint agent_open check ((opened_at is null) = (asks_at is null)),
    constraint agent_probe check (probe_by is null or opened_at is not null)
) strict, without rowid;
INSERT INTO "stepward_agent" VALUES('parcels',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "stepward_agent" VALUES('payments',NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE stepward_alert (
    number integer primary key autoincrement,
    at real not null,
    kind text not null,
    task text,
    task_id text,
    step text,
    message text not null,
    details blob not null,
    delivered_at real,
    tries integer not null,
    acknowledged_at real,
    acknowledged_by text,
    next_try real not null,
    constraint alert_acknowledged check ((acknowledged_at is null) = (acknowledged_by is null))
) strict;
CREATE TABLE stepward_audit (
    number integer primary key autoincrement,
    at real not null,
    actor text not null,
    act text not null,
    task text,
    step text,
    before text,
    after text,
    details blob not null,
    hash blob not null
) strict;
CREATE TABLE stepward_dead_letter (
    number integer primary key autoincrement,
    queue text not null,
    body blob not null,
    reason text not null,
    tries integer not null,
    buried_at real not null
) strict;
CREATE TABLE stepward_inbox (
    number integer primary key autoincrement,
    task text not null,
    kind text not null check (kind in
        ('signal', 'undo', 'cancel', 'suspend', 'fail', 'step', 'child', 'reply')),
    name text not null,
    body blob not null,
    sender text not null
) strict;
CREATE TABLE stepward_instance (
    id text not null primary key,
    role text not null check (role in ('scheduler', 'agent', 'supervisor', 'submission')),
    host text not null,
    pid integer not null,
    serves text not null check (json_valid(serves)),
    started_at real not null,
    expires_at real not null,
    alive integer not null check (alive in (0, 1)),
    capacity integer not null,
    renewed_at real not null,
    silent_at real,
    dead_at real, health text not null default '[]' check (json_valid(health)), demand text not null default '{}' check (json_valid(demand)),
    constraint instance_dead check ((dead_at is null) = (alive = 1))
) strict, without rowid;
INSERT INTO "stepward_instance" VALUES('agent-01a215e1-59e9-7cff-8b6e-1c201456c102','agent','vm',30423,'["payments","parcels"]',1.79566341988167691226e+09,1.79566342988167691229e+09,1,128,1.79566341988167691226e+09,NULL,NULL,'[{"agent":"payments","capacity":64,"in_flight":0,"stuck":0,"breaker":"closed"},{"agent":"parcels","capacity":64,"in_flight":0,"stuck":0,"breaker":"closed"}]','{}');
INSERT INTO "stepward_instance" VALUES('scheduler-01a215e1-59ed-7be8-9d20-97792cec3a08','scheduler','vm',30423,'["fulfil@1","approved@1","later@1","parent@1"]',1.79566341988537049294e+09,1.79566342990778613094e+09,1,1000,1.79566341990778613087e+09,NULL,NULL,'[]','{}');
INSERT INTO "stepward_instance" VALUES('supervisor-01a215e1-59f6-763b-b39e-dc2567a2a824','supervisor','vm',30423,'[]',1.79566341989483880996e+09,1.79566342989483880999e+09,1,0,1.79566341989483880996e+09,NULL,NULL,'[]','{}');
CREATE TABLE stepward_leadership (
    seat integer primary key check (seat = 1),
    instance text not null,
    term integer not null,
    expires_at real not null
) strict;
INSERT INTO "stepward_leadership" VALUES(1,'supervisor-01a215e1-59f6-763b-b39e-dc2567a2a824',1,1.79566343091526746745e+09);
CREATE TABLE stepward_message (
    token integer primary key autoincrement,
    queue text not null,
    body blob not null,
    expires_at real,
    taken_until real not null
, tries integer not null default 0) strict;
CREATE TABLE stepward_meta (
    key text not null primary key,
    value any not null
) strict, without rowid;
INSERT INTO "stepward_meta" VALUES('app','shop');
INSERT INTO "stepward_meta" VALUES('boot_id','a-start-of-then');
INSERT INTO "stepward_meta" VALUES('clock_offset',1.79563715848624324798e+09);
INSERT INTO "stepward_meta" VALUES('completion_key',X'0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "stepward_meta" VALUES('schema_version',5);
CREATE TABLE stepward_schedule (
    name text not null primary key,
    workflow text not null,
    version text not null,
    input blob not null,
    cron text not null,
    timezone text not null,
    catch_up text not null check (catch_up in ('one', 'all', 'none')),
    priority integer not null,
    complete_seconds real,
    next_at real,
    fired_at real,
    paused_at real
, fairness_key text) strict, without rowid;
CREATE TABLE stepward_signal_seen (
    task text not null,
    name text not null,
    id text not null,
    primary key (task, name, id)
) strict, without rowid;
CREATE TABLE stepward_step (
    task text not null,
    run integer not null,
    key text not null,
    number integer not null,
    name text not null,
    kind text not null check (
        kind = 'operation' or kind = 'undo' or kind = 'local' or kind = 'transaction' or kind = 'child' or
        kind = 'timer' or kind = 'signal' or kind = 'value'),
    state text not null check (
        state = 'running' or state = 'completed' or state = 'not_started' or state = 'to_repeat' or
        state = 'failed' or state = 'abandoned' or state = 'skipped' or state = 'undone'),
    agent text,
    attempt integer not null check (attempt >= 0),
    failure_count integer not null check (failure_count >= 0),
    complete_by real,
    complete_seconds real,
    started_at real,
    finished_at real,
    repeat_at real,
    ordinal integer,
    input blob not null,
    output blob,
    error blob,
    has_undo integer not null check (has_undo in (0, 1)),
    irreversible integer not null check (irreversible in (0, 1)),
    in_doubt integer not null check (in_doubt in (0, 1)),
    watched integer not null check (watched in (0, 1)),
    generation integer not null check (generation >= 0), progress blob, progress_at real, deferred_at real,
    constraint step_started check (attempt > 0 or state <> 'running')
) strict;
INSERT INTO "stepward_step" VALUES('01a215e1-5a02-7ef3-8197-4cfef5521aec',1,'payments.charge/1',1,'payments.charge','operation','completed','payments',1,0,1.79566701990720725061e+09,3600.0,1.79566341990720725061e+09,1.7956634199462168217e+09,NULL,1,X'5B227368697070696E67225D',X'226368617267652D7368697070696E6722',NULL,1,0,0,0,0,NULL,NULL,NULL);
INSERT INTO "stepward_step" VALUES('01a215e1-5a13-74c8-8a01-b41c23467f31',1,'payments.charge/1',1,'payments.charge','operation','completed','payments',1,0,1.7956670199240171909e+09,3600.0,1.7956634199240171909e+09,1.7956634199657320976e+09,NULL,1,X'5B2277616974696E67225D',X'226368617267652D77616974696E6722',NULL,1,0,0,0,0,NULL,NULL,NULL);
INSERT INTO "stepward_step" VALUES('01a215e1-5a25-71b6-a3eb-04039ea1cc7b',1,'payments.charge/1',1,'payments.charge','operation','completed','payments',1,0,1.79566701994141626362e+09,3600.0,1.79566341994141626353e+09,1.79566341997374057763e+09,NULL,1,X'5B22736C656570696E67225D',X'226368617267652D736C656570696E6722',NULL,1,0,0,0,0,NULL,NULL,NULL);
INSERT INTO "stepward_step" VALUES('01a215e1-5a2a-7b8c-89bd-c57ea5d004bc',1,'fulfil/1',1,'fulfil','child','running',NULL,1,0,NULL,NULL,1.7956634199462168217e+09,NULL,NULL,NULL,X'5B2266616D696C79225D',NULL,NULL,0,0,0,0,0,NULL,NULL,NULL);
INSERT INTO "stepward_step" VALUES('01a215e1-5a02-7ef3-8197-4cfef5521aec',1,'parcels.ship/1',2,'parcels.ship','operation','running','parcels',1,0,1.79566701994621682166e+09,3600.0,1.7956634199462168217e+09,NULL,NULL,NULL,X'5B227368697070696E67225D',NULL,NULL,0,0,0,1,0,NULL,NULL,NULL);
INSERT INTO "stepward_step" VALUES('01a215e1-5a2a-7b8c-89bd-c57ea5d004bc/1/fulfil/1',1,'payments.charge/1',1,'payments.charge','operation','completed','payments',1,0,1.79566701995930194852e+09,3600.0,1.79566341995930194852e+09,1.7956634199819483757e+09,NULL,1,X'5B2266616D696C79225D',X'226368617267652D66616D696C7922',NULL,1,0,0,0,0,NULL,NULL,NULL);
INSERT INTO "stepward_step" VALUES('01a215e1-5a2a-7b8c-89bd-c57ea5d004bc/1/fulfil/1',1,'parcels.ship/1',2,'parcels.ship','operation','running','parcels',1,0,1.79566701998194837566e+09,3600.0,1.7956634199819483757e+09,NULL,NULL,NULL,X'5B2266616D696C79225D',NULL,NULL,0,0,0,1,0,NULL,NULL,NULL);
INSERT INTO "stepward_step" VALUES('01a215e1-5a9e-7165-b056-b387c7000d1d',1,'payments.charge/1',1,'payments.charge','operation','completed','payments',1,0,1.79566702006296634677e+09,3600.0,1.79566342006296634677e+09,1.79566342007084393502e+09,NULL,1,X'5B2272656675736564225D',X'226368617267652D7265667573656422',NULL,1,0,0,0,0,NULL,NULL,NULL);
INSERT INTO "stepward_step" VALUES('01a215e1-5a9e-7165-b056-b387c7000d1d',1,'parcels.ship/1',2,'parcels.ship','operation','failed','parcels',1,0,1.79566702007084393498e+09,3600.0,1.79566342007084393502e+09,1.79566342008284115789e+09,NULL,2,X'5B2272656675736564225D',NULL,X'7B2264617461223A7B7D2C226D657373616765223A226E6F206164647265737320746F207368697020746F222C2274797065223A22556E7265636F76657261626C65227D',0,0,0,0,0,NULL,NULL,NULL);
INSERT INTO "stepward_step" VALUES('01a215e1-5a9e-7165-b056-b387c7000d1d',1,'payments.charge/1~undo',1,'payments.charge','undo','running','payments',1,0,1.795667020092471838e+09,3600.0,1.79566342009247183805e+09,NULL,NULL,NULL,X'5B226368617267652D72656675736564222C2272656675736564225D',NULL,NULL,0,0,0,1,0,NULL,NULL,NULL);
CREATE TABLE stepward_task (
    uid text not null,
    id text not null,
    workflow text not null,
    version text not null,
    state text not null check (
        state = 'processing' or state = 'processed' or state = 'pending' or state = 'waiting' or
        state = 'suspended' or state = 'undoing' or state = 'undone' or state = 'cancelled' or
        state = 'error'),
    priority integer not null,
    fairness_key text,
    labels blob not null,
    run integer not null check (run >= 1),
    input blob not null,
    output blob,
    error blob,
    locked_by text,
    complete_by real,
    wake_at real,
    waits_for text,
    undo_to text check (undo_to in ('undone', 'cancelled')),
    inbox integer not null check (inbox >= 0),
    failure_count integer not null check (failure_count >= 0),
    recovery_count integer not null check (recovery_count >= 0),
    parent text,
    parent_run integer,
    parent_step text,
    reply_to text,
    created_at real not null,
    started_at real,
    finished_at real, events integer not null default 0,
    constraint task_owned check (locked_by is null or (finished_at is null and state <> 'pending')),
    constraint task_owner check (locked_by is not null or state <> 'processing'),
    constraint task_undo check (undo_to is not null or state not in ('undoing', 'undone')),
    constraint task_finished check
        ((finished_at is not null) = (
        state = 'processed' or state = 'undone' or state = 'cancelled' or state = 'error'))
) strict;
INSERT INTO "stepward_task" VALUES('01a215e1-5a02-7ef3-8197-4cfef5521aec','shipping','fulfil','1','processing',5,NULL,X'7B7D',1,X'5B227368697070696E67225D',NULL,NULL,'scheduler-01a215e1-59ed-7be8-9d20-97792cec3a08',NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,1.79566341990688610073e+09,1.79566341990720725061e+09,NULL,0);
INSERT INTO "stepward_task" VALUES('01a215e1-5a13-74c8-8a01-b41c23467f31','waiting','approved','1','waiting',5,NULL,X'7B7D',1,X'5B2277616974696E67225D',NULL,NULL,'scheduler-01a215e1-59ed-7be8-9d20-97792cec3a08',NULL,NULL,'signal approval',NULL,0,0,0,NULL,NULL,NULL,NULL,1.79566341992347264285e+09,1.7956634199240171909e+09,NULL,0);
INSERT INTO "stepward_task" VALUES('01a215e1-5a25-71b6-a3eb-04039ea1cc7b','sleeping','later','1','waiting',5,NULL,X'7B7D',1,X'5B22736C656570696E67225D',NULL,NULL,'scheduler-01a215e1-59ed-7be8-9d20-97792cec3a08',NULL,1.79566347997374057771e+09,'timer',NULL,0,0,0,NULL,NULL,NULL,NULL,1.79566341994117045395e+09,1.79566341994141626353e+09,NULL,0);
INSERT INTO "stepward_task" VALUES('01a215e1-5a2a-7b8c-89bd-c57ea5d004bc','family','parent','1','waiting',5,NULL,X'7B7D',1,X'5B2266616D696C79225D',NULL,NULL,'scheduler-01a215e1-59ed-7be8-9d20-97792cec3a08',NULL,NULL,'fulfil/1',NULL,0,0,0,NULL,NULL,NULL,NULL,1.79566341994599699971e+09,1.7956634199462168217e+09,NULL,0);
INSERT INTO "stepward_task" VALUES('01a215e1-5a2a-7b8c-89bd-c57ea5d004bc/1/fulfil/1','family/fulfil/1','fulfil','1','processing',5,NULL,X'7B7D',1,X'5B2266616D696C79225D',NULL,NULL,'scheduler-01a215e1-59ed-7be8-9d20-97792cec3a08',NULL,NULL,NULL,NULL,0,0,0,'01a215e1-5a2a-7b8c-89bd-c57ea5d004bc',1,'fulfil/1',NULL,1.7956634199462168217e+09,1.7956634199595477581e+09,NULL,0);
INSERT INTO "stepward_task" VALUES('01a215e1-5a9e-7165-b056-b387c7000d1d','refused','fulfil','1','undoing',5,NULL,X'7B7D',1,X'5B2272656675736564225D',NULL,X'7B2264617461223A7B7D2C226D617962655F646F6E65223A66616C73652C226D657373616765223A226E6F206164647265737320746F207368697020746F222C2273746570223A2270617263656C732E736869702F31222C2274797065223A22537465704661696C6564227D','scheduler-01a215e1-59ed-7be8-9d20-97792cec3a08',NULL,NULL,NULL,'undone',0,0,0,NULL,NULL,NULL,NULL,1.79566342006271672249e+09,1.79566342006296634677e+09,NULL,0);
CREATE TABLE stepward_workflow (
    name text not null,
    version text not null,
    schema blob not null,
    policy blob not null,
    complete_seconds real,
    registered_at real not null, plan blob,
    primary key (name, version)
) strict, without rowid;
INSERT INTO "stepward_workflow" VALUES('approved','1',X'7B222464656673223A7B22417267756D656E7473223A7B226D61784974656D73223A312C226D696E4974656D73223A312C227072656669784974656D73223A5B7B2274797065223A22737472696E67227D5D2C227469746C65223A22417267756D656E7473222C2274797065223A226172726179227D7D2C2224726566223A22232F24646566732F417267756D656E7473227D',X'7B226261636B6F6666223A5B312E302C322E302C36302E305D2C227468656E223A22616C657274222C227468726573686F6C64223A337D',NULL,1.79566341987936806678e+09,NULL);
INSERT INTO "stepward_workflow" VALUES('fulfil','1',X'7B222464656673223A7B22417267756D656E7473223A7B226D61784974656D73223A312C226D696E4974656D73223A312C227072656669784974656D73223A5B7B2274797065223A22737472696E67227D5D2C227469746C65223A22417267756D656E7473222C2274797065223A226172726179227D7D2C2224726566223A22232F24646566732F417267756D656E7473227D',X'7B226261636B6F6666223A5B312E302C322E302C36302E305D2C227468656E223A22756E646F222C227468726573686F6C64223A337D',NULL,1.79566341987936806678e+09,NULL);
INSERT INTO "stepward_workflow" VALUES('later','1',X'7B222464656673223A7B22417267756D656E7473223A7B226D61784974656D73223A312C226D696E4974656D73223A312C227072656669784974656D73223A5B7B2274797065223A22737472696E67227D5D2C227469746C65223A22417267756D656E7473222C2274797065223A226172726179227D7D2C2224726566223A22232F24646566732F417267756D656E7473227D',X'7B226261636B6F6666223A5B312E302C322E302C36302E305D2C227468656E223A22616C657274222C227468726573686F6C64223A337D',NULL,1.79566341987936806678e+09,NULL);
INSERT INTO "stepward_workflow" VALUES('parent','1',X'7B222464656673223A7B22417267756D656E7473223A7B226D61784974656D73223A312C226D696E4974656D73223A312C227072656669784974656D73223A5B7B2274797065223A22737472696E67227D5D2C227469746C65223A22417267756D656E7473222C2274797065223A226172726179227D7D2C2224726566223A22232F24646566732F417267756D656E7473227D',X'7B226261636B6F6666223A5B312E302C322E302C36302E305D2C227468656E223A22616C657274222C227468726573686F6C64223A337D',NULL,1.79566341987936806678e+09,NULL);
CREATE UNIQUE INDEX stepward_task_uid on stepward_task (uid);
CREATE UNIQUE INDEX stepward_task_id on stepward_task (id);
CREATE INDEX stepward_task_waking on stepward_task (wake_at)
    where locked_by is null and wake_at is not null and state in ('pending', 'waiting', 'undoing');
CREATE INDEX stepward_task_held on stepward_task (locked_by) where locked_by is not null;
CREATE INDEX stepward_task_deadline on stepward_task (complete_by)
    where complete_by is not null and finished_at is null and state <> 'undoing';
CREATE INDEX stepward_task_listed on stepward_task (state, uid)
    where state <> 'processing' and state <> 'processed' and state <> 'undone' and state <> 'cancelled';
CREATE INDEX stepward_task_finished on stepward_task (finished_at)
    where finished_at is not null and state <> 'error';
CREATE UNIQUE INDEX stepward_step_key on stepward_step (task, run, key);
CREATE INDEX stepward_step_watched on stepward_step (complete_by) where watched = 1 and state = 'running';
CREATE INDEX stepward_inbox_task on stepward_inbox (task);
CREATE INDEX stepward_alert_open on stepward_alert (number) where acknowledged_at is null;
CREATE INDEX stepward_alert_undelivered on stepward_alert (next_try) where delivered_at is null;
CREATE INDEX stepward_audit_task on stepward_audit (task) where task is not null;
CREATE INDEX stepward_message_queue on stepward_message (queue, taken_until, token);
CREATE INDEX stepward_schedule_due on stepward_schedule (next_at) where paused_at is null and next_at is not null;
CREATE INDEX stepward_task_claimable
    on stepward_task (workflow, version, priority desc, coalesce(fairness_key, ''), uid)
    where locked_by is null and wake_at is null and state in ('pending', 'undoing');
DELETE FROM "sqlite_sequence";
COMMIT;
