// The decisions in test/cases/*.yaml: a policy, perhaps a session's scope, and calls with the verdict they
// must get. Every surface runs the same files; how it asks is its own test's business. What only an offline surface can
// be told (the time, what is used of limits, who signed in) is left out for a service.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Decision } from '../../src/core/decision/decide.ts';
import type { Limits, Rule } from '../../src/core/policy/policy.ts';
import type { JsonObject } from '../../src/core/wire/json.ts';
import { ROOT, type TestService } from './service.ts';

export interface Case {
  server: string;
  tool: string;
  args?: JsonObject;
  at?: string;
  /** The label of the session that the call is made with. */
  session?: string;
  keyName?: string;
  person?: string;
  used?: Record<string, number>;
  want: { decision: Decision; ruleIndex?: number | null; reason?: string };
}

export interface CaseFile {
  /** Name of the file. */
  file: string;
  policy: { name: string; rules: Rule[]; limits?: Limits };
  /** Absent: calls without a label are made with the key itself. */
  session?: { scopeTools: string[] | null };
  calls: Case[];
}

const FOLDER = join(ROOT, 'test/cases');
const CALL_FIELDS = ['server', 'tool', 'args', 'at', 'session', 'keyName', 'person', 'used', 'want'];

export function caseFiles(): CaseFile[] {
  return readdirSync(FOLDER)
    .filter(file => file.endsWith('.yaml'))
    .sort()
    .map(readCaseFile);
}

/** The cases that a service can be asked about. */
export function liveCaseFiles(): CaseFile[] {
  return caseFiles().map(file => ({ ...file, calls: file.calls.filter(isLive) }));
}

const isLive = ({ at, person, used }: Case): boolean =>
  at === undefined && person === undefined && used === undefined;

/** The session that a call is made with, if any. */
export function sessionOf(file: CaseFile, call: Case): Session | null {
  if (file.session === undefined && call.session === undefined) return null;
  return { ...file.session, label: call.session ?? '' };
}

interface Session {
  label: string;
  scopeTools?: string[] | null;
}

interface Caller {
  keyId: string;
  token: string;
}

/** The keys and sessions for the calls of a file, each made when it is first needed. */
export class Callers {
  readonly #service: TestService;
  readonly #file: CaseFile;
  readonly #prepare: (keyId: string) => Promise<void>;
  readonly #known = new Map<string, Promise<Caller>>();
  readonly #keys = new Map<string, Promise<{ id: string; key: string }>>();
  #policyId: Promise<string> | undefined;

  /** `prepare` is called with each new key. */
  constructor(service: TestService, file: CaseFile, prepare = async (_keyId: string) => {}) {
    this.#service = service;
    this.#file = file;
    this.#prepare = prepare;
  }

  for(call: Case): Promise<Caller> {
    const session = sessionOf(this.#file, call);
    return once(this.#known, JSON.stringify([call.keyName, session]), async () => {
      const { id: keyId, key } = await this.#key(call.keyName ?? this.#file.policy.name);
      if (session === null) return { keyId, token: key };
      return { keyId, token: (await this.#service.json('POST', '/v1/sessions', key, session)).body.token };
    });
  }

  #key(name: string): Promise<{ id: string; key: string }> {
    return once(this.#keys, name, async () => {
      this.#policyId ??= this.#policy();
      const made = await this.#service.admin('POST', '/keys', { name, policyId: await this.#policyId });
      await this.#prepare(made.body.id);
      return made.body;
    });
  }

  async #policy(): Promise<string> {
    const made = await this.#service.admin('POST', '/policies', this.#file.policy);
    if (made.status !== 201) throw new Error(`${this.#file.file}: ${JSON.stringify(made.body)}`);
    return made.body.id;
  }
}

function once<T>(known: Map<string, Promise<T>>, name: string, make: () => Promise<T>): Promise<T> {
  const made = known.get(name) ?? make();
  known.set(name, made);
  return made;
}

function readCaseFile(file: string): CaseFile {
  const content = parse(readFileSync(join(FOLDER, file), 'utf8')) as Omit<CaseFile, 'file'>;
  known(file, content, ['policy', 'session', 'calls']);
  for (const call of content.calls) {
    known(file, call, CALL_FIELDS);
    known(file, call.want, ['decision', 'ruleIndex', 'reason']);
    if (call.want.decision === undefined) throw new Error(`${file}: a call wants no decision`);
  }
  return { file, ...content };
}

/** A misspelt field would silently test less. */
function known(file: string, value: object, fields: string[]): void {
  for (const field of Object.keys(value)) {
    if (!fields.includes(field)) throw new Error(`${file}: unknown field "${field}"`);
  }
}

export function caseTitle({ server, tool, want, ...about }: Case): string {
  const more = Object.keys(about).length === 0 ? '' : ` with ${shortened(JSON.stringify(about))}`;
  return `${shortened(server)} ${shortened(tool)}${more} is ${want.decision}`;
}

function shortened(name: string): string {
  return name.length > 40 ? `${name.slice(0, 20)}… (${[...name].length})` : name;
}
