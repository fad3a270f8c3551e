// A fresh, migrated store on either engine, opened directly, and rows to put into it.

import { afterAll, beforeAll, describe } from 'bun:test';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { newId } from '../../src/guard/ids.ts';
import type { ProofRecord } from '../../src/store/approval-proofs.ts';
import type { ApprovalRecord } from '../../src/store/approvals.ts';
import type { ConnectedTool } from '../../src/store/connected-tools.ts';
import type { Db } from '../../src/store/engine/db.ts';
import { openPostgres } from '../../src/store/engine/postgres.ts';
import { openSqlite } from '../../src/store/engine/sqlite.ts';
import type { KeyRecord } from '../../src/store/keys.ts';
import type { AuditEntry } from '../../src/store/log/audit-entry.ts';
import { NOBODY, type SessionRecord } from '../../src/store/sessions.ts';
import { freshStore, PATIENCE } from '../support/fresh-store.ts';
import { memoryFolder } from '../support/memory-folder.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { type Engine, engines, ROOT } from '../support/service.ts';

export interface TestStore {
  engine: Engine;
  db: Db;
  /** As TOOLGATE_DATABASE_URL names it. */
  url: string;
  /** Another handle on the same store; SQLite has none, since a file serves one process. */
  again: () => Promise<Db>;
  /** Closes it, and makes further stores with the same contents. */
  copies: () => Promise<Copies>;
  close: () => Promise<void>;
}

export interface Copies {
  copy: () => Promise<TestStore>;
  remove: () => void;
}

export const NOW = Date.UTC(2030, 0, 1);
const POOL = 3;

/** A store that no migration has touched. */
export async function newStore(engine: Engine): Promise<TestStore> {
  if (engine === 'sqlite') return sqliteStore(newFolder());
  return postgresStore((await (await sharedPostgres())?.createDatabase()) ?? '');
}

/** One that has been migrated. */
export async function openStore(engine: Engine): Promise<TestStore> {
  if (engine === 'postgres') return postgresStore(await freshStore(engine, '', ROOT));
  const folder = newFolder();
  await freshStore(engine, dirname(fileIn(folder)), ROOT);
  return sqliteStore(folder);
}

/** Declares the same tests on either engine, on one store that they share; it is open once they run. */
export async function onEachEngine(declare: (store: TestStore) => void): Promise<void> {
  for (const engine of await engines()) {
    describe(engine, () => {
      const store = {} as TestStore;
      beforeAll(async () => {
        Object.assign(store, await openStore(engine));
      });
      afterAll(() => store.close());
      declare(store);
    });
  }
}

function newFolder(): string {
  const folder = memoryFolder('toolgate-store-');
  mkdirSync(dirname(fileIn(folder)), { recursive: true });
  return folder;
}

const fileIn = (folder: string): string => join(folder, 'deep/er/toolgate.db');

function sqliteStore(folder: string): TestStore {
  const path = fileIn(folder);
  const db = openSqlite(path, fatal);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const close = () => db.close().then(remove);
  const copies = async () => {
    await db.close();
    const copy = async () => {
      const other = newFolder();
      cpSync(path, fileIn(other));
      return sqliteStore(other);
    };
    return { copy, remove };
  };
  const again = async () => openSqlite(path, fatal);
  return { engine: 'sqlite', db, url: `sqlite:${path}`, again, copies, close };
}

async function postgresStore(url: string): Promise<TestStore> {
  const open = () => openPostgres(url, POOL, { patience: PATIENCE });
  const db = await open();
  const copies = async () => {
    await db.close();
    const server = await sharedPostgres();
    const name = new URL(url).pathname.slice(1);
    const copy = async () => postgresStore((await server?.createDatabase(name)) ?? '');
    return { copy, remove: () => {} };
  };
  return { engine: 'postgres', db, url, again: open, copies, close: () => db.close() };
}

function fatal(error: Error): never {
  throw error;
}

/** The smallest UUID of version 7 of a time, and a number that keeps ids of one time apart. */
export function idAt(ms: number, number = 0): string {
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, '0')}`;
}

export function auditEntry(more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: newId(),
    at: NOW,
    keyId: 'key-1',
    sessionId: null,
    surface: 'check',
    serverName: 'github',
    toolName: 'get_issue',
    decision: 'allow',
    reason: 'Rule 0 of policy "prod" allows github__get_issue.',
    policyId: 'policy-1',
    policyVersion: 1,
    ruleIndex: 0,
    referenceId: null,
    latencyMs: 1,
    personId: null,
    shadow: null,
    traceId: null,
    runId: null,
    marks: null,
    ...more,
  };
}

export function keyRecord(more: Partial<KeyRecord> = {}): KeyRecord {
  return {
    id: newId(),
    name: 'key',
    prefix: 'tg_key_abcdef',
    policyId: 'policy-1',
    shadowPolicyId: null,
    requireSignInToApprove: false,
    notifyEncrypted: null,
    forward: [],
    openTo: [],
    tasks: true,
    approveHere: false,
    createdAt: NOW,
    expiresAt: null,
    revokedAt: null,
    ...more,
  };
}

export function connectedTool(more: Partial<ConnectedTool> = {}): ConnectedTool {
  const { id = newId() } = more;
  return {
    id,
    keyId: 'key-1',
    sourceId: id,
    toolServerId: null,
    trust: 'first',
    name: 'up',
    transport: 'http',
    target: 'https://mcp.example.com/',
    headersEncrypted: null,
    oauthEncrypted: null,
    oauthAs: null,
    authorizationServer: null,
    createdAt: NOW,
    updatedAt: null,
    ...more,
  };
}

export function sessionRecord(more: Partial<SessionRecord> = {}): SessionRecord {
  return {
    id: newId(),
    keyId: 'key-1',
    prefix: 'tg_ses_abcdef',
    label: 'run',
    scopeTools: null,
    createdAt: NOW,
    expiresAt: NOW + 60_000,
    revokedAt: null,
    ...NOBODY,
    ...more,
  };
}

export function approvalRecord(more: Partial<ApprovalRecord> = {}): ApprovalRecord {
  return {
    id: newId(),
    toolCallId: newId(),
    keyId: 'key-1',
    sessionId: null,
    policyId: 'policy-1',
    surface: 'check',
    serverName: 'prod',
    toolName: 'deploy',
    argsDigest: 'd1',
    definitionDigest: null,
    ruleDigest: null,
    reason: 'Rule 0 of policy "prod" requires approval for prod__deploy.',
    status: 'pending',
    createdAt: NOW,
    expiresAt: NOW + 60_000,
    resolvedAt: null,
    resolvedBy: null,
    grantExpiresAt: null,
    spentAt: null,
    withdrawnAt: null,
    note: null,
    shows: 0,
    personId: null,
    personEmail: null,
    proof: null,
    approverGroup: null,
    votesNeeded: 1,
    valueDigests: null,
    runId: null,
    runMarks: null,
    ...more,
  };
}

export function proofRecord(more: Partial<ProofRecord> = {}): ProofRecord {
  return {
    approvalId: newId(),
    operatorId: 'operator-1',
    by: 'operator:ann@example.com',
    action: 'approve',
    nonce: 'n1',
    credentialId: 'c1',
    publicKey: 'k1',
    rpId: 'gate.example',
    origin: 'https://gate.example',
    response: '{}',
    at: NOW,
    ...more,
  };
}
