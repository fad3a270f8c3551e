// Every list and every look-up on the path of a check goes by an index: the plans of the very statements
// that the store sends, on a store with some thousand rows.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { HOUR, MINUTE } from '../../src/core/time/duration.ts';
import * as proofs from '../../src/store/approval-proofs.ts';
import * as approvals from '../../src/store/approvals.ts';
import { openApprovals, undelivered, unsentNotifications, unsettledCalls } from '../../src/store/backlogs.ts';
import { listChanges } from '../../src/store/changes.ts';
import {
  findTool,
  insertConnectedTool,
  insertLink,
  listPersonalTools,
} from '../../src/store/connected-tools.ts';
import {
  keepLook,
  listAllNeighbours,
  listAllReviewed,
  listKeysUsing,
  listNeighbours,
  listReviewed,
  listUnlooked,
  readHasLookAlike,
} from '../../src/store/definition-reviews.ts';
import { countFailures } from '../../src/store/deliveries.ts';
import { earlierApprovals } from '../../src/store/earlier-approvals.ts';
import type { Queries, Row, Value } from '../../src/store/engine/db.ts';
import * as executions from '../../src/store/executions.ts';
import * as grants from '../../src/store/grants.ts';
import { findLastUses } from '../../src/store/key-uses.ts';
import * as keys from '../../src/store/keys.ts';
import * as limits from '../../src/store/limits.ts';
import * as audit from '../../src/store/log/audit.ts';
import { type AuditFilter, searchAudit } from '../../src/store/log/audit-search.ts';
import { nextAuditId, tallies } from '../../src/store/log/audit-tally.ts';
import * as contextRollups from '../../src/store/log/context-rollups.ts';
import { newestEntries } from '../../src/store/log/newest-entries.ts';
import { insertOutcomes } from '../../src/store/log/outcomes.ts';
import * as rollups from '../../src/store/log/rollups.ts';
import { findSearchedTools } from '../../src/store/log/tool-names.ts';
import { insertNotification, listNewestOf, listNotifications } from '../../src/store/notifications.ts';
import * as oauth from '../../src/store/oauth.ts';
import { insertOperator } from '../../src/store/operators.ts';
import * as passkeys from '../../src/store/passkeys.ts';
import { openKeys } from '../../src/store/people.ts';
import * as policies from '../../src/store/policies.ts';
import { anyChangeDue, postedTo } from '../../src/store/posted-messages.ts';
import * as servers from '../../src/store/server-sign-ins.ts';
import * as sessions from '../../src/store/sessions.ts';
import { listTaskMarks } from '../../src/store/task-marks.ts';
import { findTaskViews } from '../../src/store/task-views.ts';
import * as tasks from '../../src/store/tasks.ts';
import {
  countDrifted,
  listToolNames,
  markDrift,
  pinDefinition,
  shownDefinitions,
} from '../../src/store/tool-definitions.ts';
import * as toolServers from '../../src/store/tool-servers.ts';
import * as usable from '../../src/store/usable-approvals.ts';
import { insertVote, listVotes } from '../../src/store/votes.ts';
import { sql } from '../support/faults.ts';
import { engines } from '../support/service.ts';
import {
  approvalRecord,
  auditEntry,
  connectedTool,
  idAt,
  keyRecord,
  NOW,
  openStore,
  proofRecord,
  sessionRecord,
  type TestStore,
} from './stores.ts';

const ROWS = 3000;
const PART = 25;

const LISTS: Record<string, (db: Queries) => Promise<unknown>> = {
  'next entry': db => nextAuditId(db, NOW),
  'counts of buckets': db => rollups.rollupCounts(db, MINUTE, NOW, NOW + HOUR, 'tool'),
  'counts over time': db => rollups.rollupSeries(db, MINUTE, NOW, NOW + HOUR, HOUR),
  'counts by context': db => Array.fromAsync(contextRollups.contextCounts(db, MINUTE, NOW, NOW + HOUR)),
  keys: db => keys.listKeys(db, 51, 'z'),
  'a key by its hash': db => keys.findKeyByHash(db, 'hash 7'),
  'facts of keys': db => keys.keyFacts(db, [idAt(NOW, 7), idAt(NOW, 8)]),
  'last uses of keys': db => findLastUses(db, ['key-7', 'key-8', 'nothing']),
  'changed tools of keys': db => countDrifted(db, ['key-7', 'key-8', 'key-9']),
  'keys of a policy': db => keys.policyInUse(db, 'policy-7'),
  'keys whose shadow a policy is': db => keys.keysShadowedBy(db, 'shadow-7', 4),
  'keys that are open to people': db => openKeys(db, NOW),
  sessions: db => sessions.listSessions(db, null, 51, 'z'),
  'sessions of a key': db => sessions.listSessions(db, 'key-7', 51, 'z'),
  'connections of a person': db => sessions.listConnections(db, 'person-7', NOW, 51, 'z'),
  'keys that a person is connected to': db => sessions.connectedKeys(db, 'person-7', NOW),
  'names of keys': db => keys.listKeyNames(db, [idAt(NOW, 7), idAt(NOW, 8)]),
  'active sessions': db => sessions.activeSessions(db, 'key-7', NOW, 10, 'z'),
  'whether sessions are many': db => sessions.hasActive(db, 'key-7', NOW, idAt(NOW - HOUR), 100),
  'a session by its hash': db => sessions.findSessionByHash(db, 'hash 7'),
  'whether a person has many tokens': db => sessions.hasActiveTokens(db, 'person-7', NOW, 200),
  'facts of sessions': db => sessions.sessionFacts(db, [idAt(NOW, 7)]),
  approvals: db => approvals.listApprovals(db, {}, 51, 'z'),
  'approvals of a status': db => approvals.listApprovals(db, { status: 'denied' }, 51, 'z'),
  'approvals that have ended': db => approvals.listEnded(db, {}, 51, null),
  'approvals that have ended in one way': db => approvals.listEnded(db, { status: 'denied' }, 51, null),
  'failures of a webhook': db => countFailures(db, 'webhook-7'),
  'approvals of a person': db => approvals.listApprovals(db, { personId: 'person-7' }, 51, 'z'),
  'approvals of a person and a status': db =>
    approvals.listApprovals(db, { personId: 'person-7', status: 'denied' }, 51, 'z'),
  'open approvals': db => approvals.countOpen(db, ['key-7'], NOW),
  'an approval by its token': db => approvals.findApprovalByToken(db, 'token 7'),
  'approvals by their ids': db => approvals.findApprovals(db, [idAt(NOW, 7)]),
  'approvals to spend': db => usable.findSpendable(db, [idAt(NOW, 7)], 0),
  'a task': db => tasks.findTask(db, idAt(NOW, 7)),
  'the task of a call': db => tasks.findTaskOfCall(db, idAt(NOW, 7)),
  'tasks that a process has to do something for': db => tasks.listDueTasks(db, 'process-1', 100),
  'marks of tasks': db => listTaskMarks(db, [idAt(NOW, 7), idAt(NOW, 8)], NOW),
  'tasks of approvals': db => findTaskViews(db, [idAt(NOW, 7)]),
  'processes at work': db => executions.processesAtWork(db),
  'calls that a process forwards': db => executions.listForwardedBy(db, 'process-1', NOW, 100),
  'calls that are not known to have run': db => executions.listUnknown(db, 51, 'z'),
  'calls that wait to be settled': db => unsettledCalls(db),
  'approvals of the same call': db => usable.findRepeated(db, ['key-7'], ['digest'], NOW),
  'earlier approvals of a tool': db =>
    earlierApprovals(db, approvalRecord({ id: idAt(NOW, 7), keyId: 'key-7' }), idAt(NOW - HOUR)),
  'votes of approvals': db => listVotes(db, [idAt(NOW, 7)]),
  'proofs of an approval': db => proofs.listProofs(db, idAt(NOW, 7)),
  'a nonce of an approval': db => proofs.findNonce(db, idAt(NOW, 7), 'o', 0),
  'nonces that have ended': db => proofs.removeOldNonces(db, 0),
  'messages about an approval': db =>
    listNotifications(db, { status: null, approvalId: idAt(NOW, 7) }, 51, 'z'),
  'newest messages of a channel': db => listNewestOf(db, 'desk', 'http', 100),
  'newest messages without a channel': db => listNewestOf(db, null, 'http', 100),
  'messages that have to be changed': db => anyChangeDue(db, NOW),
  'a message of an approval': db => postedTo(db, idAt(NOW, 7), 'C1/1.1'),
  'names of the tools of a server': db => listToolNames(db, idAt(NOW, 7), 100),
  'definitions that nobody has looked at': db => listUnlooked(db, 1, 100),
  'a tool of a key that looks like another': db =>
    readHasLookAlike(db, 'key-7', { sourceId: idAt(NOW, 8), toolName: 'u', skeleton: 't' }),
  'keys that use a source': db => listKeysUsing(db, idAt(NOW, 7), 100),
  'other sources of a key': db => listNeighbours(db, 'key-7', idAt(NOW, 8)),
  'other sources of the keys that use a source': db => listAllNeighbours(db, idAt(NOW, 7), 100),
  'the tools of a source, with who accepted them': db => listReviewed(db, idAt(NOW, 7), 50, ''),
  'the tools of all sources': db => listAllReviewed(db, 50, { sourceId: idAt(NOW, 7), toolName: '' }),
  'definitions that tools show': db => shownDefinitions(db, [idAt(NOW, 7)], ['t', 'u']),
  'a tool by its id': db => findTool(db, idAt(NOW, 7)),
  'tools that people sign in to': db => listPersonalTools(db),
  'shared tool servers': db => toolServers.listToolServers(db, 51, ''),
  'a tool server by its name': db => toolServers.findToolServerByName(db, 'server 7'),
  'keys that name a tool server': db => toolServers.listToolServerUses(db, serverAt(7), 51),
  'how many keys name a tool server': db => toolServers.countKeysOf(db, serverAt(7)),
  'a sign-in to a server': db => servers.findServerSignIn(db, idAt(NOW, 7), ''),
  'a person’s sign-ins to servers': db => servers.listServerSignIns(db, 'person-7'),
  'a ticket to a server': db => servers.findServerTicket(db, 'hash 7', NOW),
  'clients at a server': db => servers.countServerClients(db, idAt(NOW, 7)),
  'a passkey': db => passkeys.findPasskey(db, 'passkey-7'),
  'an access token': db => oauth.findAccess(db, 'hash 7'),
  'a token': db => oauth.findOAuthToken(db, 'hash 7'),
  'tokens that have ended': db => oauth.removeOldTokens(db, NOW - 1, 9),
  'a code': db => oauth.findCode(db, 'hash 7'),
  'codes that have ended': db => oauth.removeOldCodes(db, NOW - 1),
  'OAuth clients': db => oauth.listOAuthClients(db, 51, 'z'),
  'an OAuth client': db => oauth.findOAuthClient(db, idAt(NOW, 7)),
  'connections of a person that are used least': db => oauth.leastUsedConnections(db, 'person-7', NOW, 50),
  'connections of a client': db => oauth.activeSessionsOfClient(db, 'client-7', NOW, 9),
  'a person’s passkeys': db => passkeys.listPasskeys(db, 'person-7'),
  'challenges that were answered long ago': db => passkeys.removeOldAnswered(db, NOW - HOUR),
  'open grants': db => grants.openGrants(db, ['key-7'], NOW),
  'what is used of limits': db => limits.usedOf(db, [7, 8, 9].map(counted), NOW),
  limits: db => limits.listUsed(db, {}, NOW, 51, counted(7)),
  'limits of a policy': db => limits.listUsed(db, { limitIds: ['limit-7', 'limit-8'] }, NOW, 51, counted(0)),
  'limits of a key': db => limits.listUsed(db, { keyId: 'key-7' }, NOW, 51, counted(0)),
  'limits that have ended': db => limits.removeEnded(db, NOW, 9),
  'approvals that wait': db => openApprovals(db),
  'events that wait for a webhook': db => undelivered(db),
  'messages that wait to be sent': db => unsentNotifications(db, NOW),
  policies: db => policies.listPolicies(db, 51, 'z'),
  'versions of a policy': db => policies.listPolicyVersions(db, 'policy-7', 51, 9),
  changes: db => listChanges(db, 51, 'z'),
};

function nonceOf(approvalId: string): proofs.Nonce {
  return { approvalId, operatorId: 'o', nonce: 'n', action: 'approve', expiresAt: 1 };
}

function taskAt(n: number): tasks.TaskRecord {
  const [id, waits] = [idAt(NOW, n), n % 50 === 1];
  const about = { keyId: `key-${n % 100}`, sessionId: null, personId: null, serverTaskEncrypted: null };
  const held = { state: waits ? 'waiting' : 'begun', processId: waits ? 'process-1' : null } as const;
  const times = { createdAt: NOW, changedAt: NOW, knownUntil: NOW + n };
  return { id, ...about, ...held, ...times, toolCallId: waits ? null : id };
}

const serverAt = (n: number): string => idAt(NOW + 2 * ROWS, n);

function counted(n: number): limits.Counted {
  return { limitId: `limit-${n % 100}`, subject: `subject-${n}` };
}

const SHADOW = { policyId: 'p', policyVersion: 1, decision: 'deny', ruleIndex: null } as const;

/** Every combination of filters, on the first page and on a later one. */
const SEARCHES: [string, AuditFilter, string][] = [];
for (let bits = 0; bits < 32; bits++) {
  const filter: AuditFilter = {
    ...(bits & 1 && { keyId: 'key-7' }),
    ...(bits & 2 && { sessionId: 'session-8' }),
    ...(bits & 4 && { tool: bits & 1 ? 'tool-7' : 'github__tool-7' }),
    ...(bits & 8 && { decision: bits & 2 ? 'allow' : 'pending' }),
    ...(bits & 16 && { surface: bits & 4 ? 'check' : 'mcp' }),
    ...(bits % 10 === 0 && { personId: 'person-8' }),
    ...(bits % 7 === 3 && { shadow: bits & 4 ? 'differs' : 'deny' }),
  };
  SEARCHES.push([`search by ${Object.keys(filter).join(', ') || 'nothing'}`, filter, 'z']);
  const from = NOW + (bits % 3);
  SEARCHES.push([`${SEARCHES.at(-1)?.[0]}, in a time`, { ...filter, from, to: NOW + 900 }, idAt(NOW + 800)]);
}

/** Searches by texts that several tools match: their names are found first, and lead the search or not. */
const TOOL_SEARCHES: [string, string, AuditFilter][] = [
  ['some', 'OOL-7', {}],
  ['others', '*l-7*', { keyId: 'key-7' }],
  ['all', 'tool', { decision: 'pending', sessionId: 'session-8', from: NOW }],
  ['none', 'nowhere', { surface: 'mcp' }],
];

/** Statements of the delivery worker and the deliveries' list, by the indexes made for them. */
const DELIVERIES: Record<string, [sql: string, ...params: Value[]]> = {
  'deliveries of a webhook': [
    'SELECT id FROM deliveries WHERE webhook_id = $1 AND id < $2 ORDER BY id DESC LIMIT 51',
    'webhook-7',
    'z',
  ],
  'deliveries that wait': [
    "SELECT id FROM deliveries WHERE status = $1 AND status <> 'delivered' AND id >= $2 ORDER BY id LIMIT 1",
    'pending',
    '',
  ],
  'deliveries that are due': [
    "SELECT id FROM deliveries WHERE status = 'pending' AND next_attempt_at <= $1 ORDER BY next_attempt_at LIMIT 10",
    NOW,
  ],
};

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await openStore(engine);
      await fill(store);
      await sql(store.url, 'ANALYZE');
    });
    afterAll(() => store.close());

    async function plan(sql: string, params: readonly Value[]): Promise<string[]> {
      if (engine === 'postgres') {
        return (await store.db.all(`EXPLAIN ${sql}`, params)).map(row => String(row['QUERY PLAN']));
      }
      return (await store.db.all(`EXPLAIN QUERY PLAN ${sql}`, params)).map(row => String(row['detail']));
    }

    async function expectIndexed(sql: string, params: readonly Value[]): Promise<void> {
      const lines = await plan(sql, params);
      // Contexts are few next to entries; PostgreSQL reads them whole while they fill a page or two.
      const bare =
        engine === 'postgres'
          ? /Seq Scan on (?!audit_contexts)/
          : /^SCAN (?!.*USING (COVERING INDEX|INDEX|PRIMARY KEY)|(r|n|c LEFT-JOIN|chunk|steps|names|given|wanted|earlier|answered|waiting|(\d+ )?CONSTANT ROWS?|\d+-ROW VALUES CLAUSE)$)/;
      expect(lines.filter(line => bare.test(line))).toEqual([]);
      expect(lines.join('\n')).toMatch(/index|primary key/i);
    }

    // With the scope of each session it read 64 KiB.
    test.if(engine === 'sqlite')('active sessions are counted by an index alone', async () => {
      const count = (db: Queries) => sessions.hasActive(db, 'key-7', NOW, idAt(NOW - HOUR), 100);
      const [[statement, params]] = (await statementsOf(count)) as [[string, readonly Value[]]];
      expect(await plan(statement, params)).toEqual([
        expect.stringContaining('USING COVERING INDEX sessions_active'),
      ]);
    });

    async function statementsOf(
      work: (db: Queries) => Promise<unknown>,
    ): Promise<[string, readonly Value[]][]> {
      const sent: [string, readonly Value[]][] = [];
      await work({
        all: async <T = Row>(sql: string, params: readonly Value[] = []) => {
          sent.push([sql, params]);
          return store.db.all<T>(sql, params);
        },
        run: async (sql, params = []) => {
          sent.push([sql, params]);
          return store.db.run(sql, params);
        },
      });
      return sent;
    }

    for (const [what, list] of Object.entries(LISTS)) {
      test(what, async () => {
        const sent = await statementsOf(list);
        expect(sent).toHaveLength(1);
        for (const [sql, params] of sent) await expectIndexed(sql, params);
      });
    }

    test('audit tally: where a piece ends, and what is in it', async () => {
      const sent = await statementsOf(db => Array.fromAsync(tallies(db, NOW, NOW + 5)));
      expect(sent).toHaveLength(2);
      for (const [sql, params] of sent) await expectIndexed(sql, params);
    });

    test('the newest entries of contexts', async () => {
      const group = { keyId: 'key-7', toolName: 'tool-7', decision: 'pending', contexts: [7, 8, 9] } as const;
      const sent = await statementsOf(db => newestEntries(db, { ...group, from: NOW, to: NOW + HOUR }, 5));
      expect(sent.length).toBeGreaterThan(1);
      for (const [sql, params] of sent) await expectIndexed(sql, params);
    });

    test('the oldest counts by context', async () => {
      const sent = await statementsOf(db => contextRollups.oldestContextBucket(db));
      for (const [sql, params] of sent) await expectIndexed(sql, params);
    });

    for (const [what, filter, before] of SEARCHES) {
      test(what, async () => {
        const sent = await statementsOf(db => searchAudit(db, filter, 50, before));
        expect(sent.length).toBeGreaterThan(0);
        for (const [sql, params] of sent) {
          await expectIndexed(sql, params);
          expect(sql).toMatch(/LIMIT \d+\)|OFFSET \d+/);
        }
      });
    }

    for (const [what, text, filter] of TOOL_SEARCHES) {
      test(`search by a text that ${what} of the tools match`, async () => {
        const sent = await statementsOf(async db => {
          const tools = await findSearchedTools(db, text);
          expect(tools?.names).not.toBeNull();
          await searchAudit(db, { ...filter, tools: tools ?? undefined }, 50, 'z');
        });
        for (const [sql, params] of sent) {
          expect(sql).toMatch(/LIMIT \d+|OFFSET \d+|max\(/);
          // While the contexts fill a page or two, PostgreSQL need not look them up: tool-names.test.ts has many.
          if (engine === 'sqlite' || sql.includes('audit_slots')) await expectIndexed(sql, params);
        }
      });
    }

    for (const [what, [sql, ...params]] of Object.entries(DELIVERIES)) {
      test(what, () => expectIndexed(sql, params));
    }
  });
}

/** In parts: a transaction has a time limit. */
async function fill(store: TestStore): Promise<void> {
  for (let at = 0; at < ROWS; at += PART) {
    await fillPart(
      store,
      Array.from({ length: PART }, (_, n) => at + n),
    );
  }
}

async function fillPart({ db }: TestStore, rows: number[]): Promise<void> {
  await db.transaction({}, async tx => {
    await audit.insertAudit(
      tx,
      rows.map(n =>
        auditEntry({
          id: idAt(NOW + n, n),
          keyId: `key-${n % 100}`,
          sessionId: n % 2 === 0 ? `session-${n % 100}` : null,
          personId: n % 2 === 0 ? `person-${n % 100}` : null,
          toolName: `tool-${n % 100}`,
          decision: n % 50 === 0 ? 'pending' : 'allow',
          surface: n % 50 === 0 ? 'mcp' : 'check',
          shadow: n % 100 === 7 ? SHADOW : null,
        }),
      ),
    );
    const count = { amount: 1, policyId: 'p', name: 'n' };
    limits.addCounts(
      tx,
      rows.map(n => ({ ...count, ...counted(n), endsAt: NOW + n, keyId: `key-${n % 100}` })),
    );
    // The statements of all rows are under way at once, so that a busy machine waits for few round trips.
    const fillRow = async (n: number) => {
      await passkeys.insertPasskey(tx, {
        id: `passkey-${n}`,
        operatorId: `person-${n % 100}`,
        name: 'n',
        publicKey: 'k',
        counter: 0,
        transports: [],
        createdAt: NOW + n,
        usedAt: null,
      });
      await passkeys.insertAnswered(tx, `hash ${n}`, NOW + n);
      const id = idAt(NOW, n);
      const keyId = `key-${n % 100}`;
      const status = n % 50 === 0 ? 'denied' : n % 50 === 1 ? 'pending' : 'approved';
      const openTo = n % 100 === 0 ? ['group:dev'] : [];
      await keys.insertKey(
        tx,
        keyRecord({ id, openTo, policyId: `policy-${n}`, shadowPolicyId: `shadow-${n}` }),
        `hash ${n}`,
      );
      const personId = n % 10 === 7 ? `person-${n % 100}` : null;
      const operator = { id: `person-${n}`, email: `${n}@example.com`, role: 'user', createdAt: 0 } as const;
      await insertOperator(tx, operator, null);
      const clientId = personId && `client-${n % 100}`;
      await sessions.insertSession(tx, sessionRecord({ id, keyId, personId, clientId }), `hash ${n}`);
      const token = { sessionId: id, kind: 'access', createdAt: 0, expiresAt: NOW + n } as const;
      await oauth.insertOAuthToken(tx, token, `hash ${n}`);
      const asked = { clientId: 'c', clientName: 'c', redirectUri: 'r', challenge: 'x', sessionId: null };
      await oauth.insertCode(tx, { ...asked, personId: 'p', keyId, expiresAt: NOW + n }, `hash ${n}`);
      await oauth.insertOAuthClient(tx, { id, name: 'n', redirectUris: [], createdAt: 0 });
      approvals.insertApproval(tx, approvalRecord({ id, keyId, status, personId }), `token ${n}`);
      await insertVote(tx, { approvalId: id, operatorId: 'o', by: 'operator:o', at: 0 });
      await proofs.insertProof(tx, proofRecord({ approvalId: id }));
      await proofs.replaceNonce(tx, nonceOf(id));
      tasks.putTask(tx, taskAt(n));
      const processId = n % 50 === 1 ? 'process-1' : null;
      executions.insertExecutions(tx, [{ toolCallId: id, keyId, processId, at: NOW + n }]);
      if (n % 50 === 2) await executions.giveUpExecution(tx, id, NOW);
      else insertOutcomes(tx, [{ toolCallId: id, outcome: 'ok', durationMs: 0, at: NOW, result: null }]);
      const about = { approvalId: id, keyId, channel: 'http', createdAt: 0 } as const;
      const channelName = n % 50 === 0 ? 'desk' : null;
      insertNotification(tx, { id, ...about, channelName, tokenEncrypted: 't' });
      if (n % 50 !== 0) tx.defer("UPDATE notifications SET status = 'sent' WHERE id = $1", [id]);
      pinDefinition(tx, { sourceId: id, toolName: 't', digest: 'd', definition: '{}', seenAt: 0 });
      const looked = { look: 'd', looked: 1, skeleton: `t ${n}` };
      if (n % 100 !== 8) keepLook(tx, { sourceId: id, toolName: 't', digest: 'd' }, looked);
      if (n % 100 === 7) markDrift(tx, id, 't', { digest: 'e', definition: '{}', at: 0 });
      const oauthAs = n % 500 === 0 ? 'person' : null;
      await insertConnectedTool(tx, connectedTool({ id, keyId, name: `tool ${n}`, oauthAs, createdAt: 0 }));
      const serverId = serverAt(n);
      const server = connectedTool({ id: serverId, name: `server ${n}`, oauthAs, createdAt: 0 });
      await toolServers.insertToolServer(tx, { ...server, keyId: null, toolServerId: serverId });
      const link = { id: idAt(NOW + ROWS, n), keyId: id, name: 'up', toolServerId: serverId, createdAt: 0 };
      await insertLink(tx, link);
      const owned = { toolId: id, personId: `person-${n % 100}` };
      const visit = { ...owned, hash: `hash ${n}`, expiresAt: NOW + n };
      await servers.insertServerVisit(tx, { ...visit, browserHash: 'b', stateEncrypted: 's' }, 0);
      await servers.insertServerTicket(tx, visit, 0);
      await servers.putServerClient(tx, { toolId: id, issuer: 'i', clientEncrypted: 'c' }, 0);
      const nothing = { account: null, scopes: null, wanted: null, expiresAt: null };
      await servers.putServerSignIn(tx, { ...owned, ...nothing, tokensEncrypted: 't' }, 0);
      grants.insertGrant(tx, {
        id,
        referenceId: id,
        keyId,
        serverName: 's',
        toolName: 't',
        definitionDigest: null,
        ruleDigest: null,
        createdAt: 0,
        expiresAt: n,
      });
      const policy = {
        id: `policy-${n}`,
        name: `policy ${n}`,
        description: '',
        version: 1,
        createdAt: 0,
        updatedAt: 0,
      };
      await policies.insertPolicy(tx, policy);
      const kept = { rules: [], limits: {}, results: [], text: null };
      const version = { version: n % 9, name: 'p', ...kept, createdAt: 0, createdBy: 'admin' };
      await policies.insertPolicyVersion(tx, policy.id, version);
      tx.defer("INSERT INTO rollups VALUES ($1, 'tool', $2, $3, 'allow', 1)", [
        n % 2 === 0 ? MINUTE : HOUR,
        NOW + Math.floor(n / 10) * MINUTE,
        `tool-${n}`,
      ]);
      tx.defer("INSERT INTO context_rollups VALUES ($1, $2, $3, 'allow', 1)", [
        n % 2 === 0 ? MINUTE : HOUR,
        NOW + Math.floor(n / 10) * MINUTE,
        n,
      ]);
      tx.defer('INSERT INTO changes VALUES ($1, 0, $2, $2, $2, $3)', [id, 'x', '{}']);
      tx.defer('INSERT INTO deliveries VALUES ($1, $2, $3, $4, 0, $5, 0, 0)', [
        id,
        'event',
        `webhook-${n % 100}`,
        n % 50 === 0 ? 'pending' : 'delivered',
        NOW + n,
      ]);
    };
    await Promise.all(rows.map(fillRow));
  });
}
