// Case files: a policy, optionally a session's scope and a coding agent's working folder, and calls with the decision that
// each must get. Faults in a file are reported with their line. A misspelt field is a fault too, because it would silently
// test less.

import { dirname, join } from 'node:path';
import { isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';
import { DECISIONS, type Decision } from '../core/decision/decide.ts';
import { simulate, type Tried, usedFault } from '../core/decision/simulate.ts';
import type { CompiledPolicy } from '../core/policy/compiled-policy.ts';
import { scopeFault, serverNameFault, toolNameFault } from '../core/text/name.ts';
import { isObject, type JsonObject } from '../core/wire/json.ts';
import { EXIT } from './exit.ts';
import { type IO, readText } from './io.ts';
import { readTime, TIME_FORM } from './moment.ts';
import { compiled, cutOut, policyIn, readPolicy } from './policy-file.ts';
import { jsonOf, NoJson } from './yaml-json.ts';
import { offset, YamlReader } from './yaml-reader.ts';

export interface Wanted {
  decision: Decision;
  ruleIndex?: number | null;
  reason?: string;
}

interface Case {
  line: number;
  server: string;
  tool: string;
  tried: Tried;
  want: Wanted;
}

interface CaseFile {
  policy: CompiledPolicy;
  calls: Case[];
}

export interface Failure {
  file: string;
  line: number;
  call: string;
  wanted: Wanted;
  got: Wanted;
}

export function failureOf(file: string, policy: CompiledPolicy, call: Case): Failure | null {
  const { server, tool, line, tried, want: wanted } = call;
  const { decision, ruleIndex, reason } = simulate(policy, { serverName: server, toolName: tool }, tried);
  const asWanted =
    decision === wanted.decision &&
    (wanted.ruleIndex === undefined || ruleIndex === wanted.ruleIndex) &&
    (wanted.reason === undefined || reason.includes(wanted.reason));
  if (asWanted) return null;
  return { file, line, call: `${server}__${tool}`, wanted, got: { decision, ruleIndex, reason } };
}

export async function readCases(io: IO, file: string): Promise<CaseFile> {
  return new Reader(io, file, await readText(io, file), EXIT.noAnswer).read();
}

const CALL_FIELDS = [
  'server',
  'tool',
  'args',
  'at',
  'session',
  'keyName',
  'person',
  'folder',
  'used',
  'want',
];

/** What all calls of a file share: the session with which they are made, and the folder, if the file has them. */
type Shared = Pick<Tried, 'scopeTools' | 'session' | 'folder'>;

class Reader extends YamlReader {
  async read(): Promise<CaseFile> {
    const root = this.#map(this.root(), 'a case file', ['policy', 'session', 'folder', 'calls']);
    const policy = await this.#policy(root.get('policy', true));
    const session = root.get('session', true);
    const shared = session == null ? {} : { session: '', scopeTools: this.#scope(session) };
    const folder = this.#text(root, 'folder');
    return { policy, calls: this.#calls(root, policy, { ...shared, folder }) };
  }

  /** The policy is written here, or is the name of a policy file beside this one. */
  async #policy(node: unknown): Promise<CompiledPolicy> {
    if (isScalar(node) && typeof node.value === 'string') {
      const file = join(dirname(this.file), node.value);
      return compiled(await readPolicy(this.io, file, EXIT.noAnswer), file);
    }
    const range = (node as Node | undefined)?.range;
    if (!range) throw this.wrong(0, '"policy" is missing: a policy, or the name of a policy file');
    const text = cutOut(this.text, range);
    return compiled(policyIn(this.io, text, this.file, EXIT.noAnswer), this.file);
  }

  #scope(node: unknown): string[] | null {
    const session = this.#map(node, '"session"', ['scopeTools']).toJSON() as { scopeTools?: unknown };
    const scope = session.scopeTools ?? null;
    if (scope === null) return null;
    if (!Array.isArray(scope) || !scope.every(name => typeof name === 'string'))
      throw this.wrong(offset(node), '"scopeTools" must be a list of full tool names, or null');
    for (const name of scope) {
      const fault = scopeFault(name);
      if (fault !== null) throw this.wrong(offset(node), `"scopeTools": "${name}" ${fault}`);
    }
    return scope;
  }

  #calls(root: YAMLMap, policy: CompiledPolicy, shared: Shared): Case[] {
    const calls = root.get('calls', true);
    if (!isSeq(calls)) throw this.wrong(offset(root), '"calls" must be a list');
    if (calls.items.length === 0)
      throw this.wrong(offset(calls), '"calls" is empty: nothing would be tested');
    return calls.items.map(item => this.#call(item, policy, shared));
  }

  #call(node: unknown, policy: CompiledPolicy, shared: Shared): Case {
    const map = this.#map(node, 'a call', CALL_FIELDS);
    const want = this.#want(map.get('want', true) ?? map);
    const server = this.#text(map, 'server', serverNameFault);
    const tool = this.#text(map, 'tool', toolNameFault);
    if (server === undefined || tool === undefined)
      throw this.wrong(offset(map), `"${server === undefined ? 'server' : 'tool'}" must be a string`);
    const tried: Tried = {
      at: this.#time(map),
      args: this.#args(map),
      scopeTools: shared.scopeTools,
      session: this.#text(map, 'session') ?? shared.session,
      keyName: this.#text(map, 'keyName'),
      person: this.#text(map, 'person'),
      folder: this.#text(map, 'folder') ?? shared.folder,
      used: this.#used(map, policy),
    };
    return { line: this.line(offset(map)), server, tool, tried, want };
  }

  #text(map: YAMLMap, field: string, faultOf?: (text: string) => string | null): string | undefined {
    const node = map.get(field, true);
    if (node === undefined) return undefined;
    if (typeof node.value !== 'string') throw this.wrong(offset(node), `"${field}" must be a string`);
    const fault = faultOf?.(node.value) ?? null;
    if (fault !== null) throw this.wrong(offset(node), `"${field}" ${fault}`);
    return node.value;
  }

  #time(map: YAMLMap): number {
    const text = this.#text(map, 'at');
    const at = text === undefined ? Date.now() : readTime(text);
    if (at === null) throw this.wrong(offset(map.get('at', true)), `"at" must be ${TIME_FORM}`);
    return at;
  }

  #args(map: YAMLMap): JsonObject | undefined {
    const node = map.get('args', true);
    if (node === undefined) return undefined;
    const args = this.#json('args', node);
    if (!isObject(args)) throw this.wrong(offset(node), '"args" must be an object');
    return args;
  }

  #used(map: YAMLMap, policy: CompiledPolicy): Record<string, string> {
    const node: unknown = map.get('used', true);
    if (node === undefined) return {};
    if (!isMap(node))
      throw this.wrong(offset(node), '"used" must be an object with amounts by names of limits');
    const amounts = Object.entries(this.#json('used', node) as JsonObject).map(([name, amount]) => {
      const text = typeof amount === 'string' ? amount : JSON.stringify(amount);
      const fault = usedFault(policy, name, text);
      if (fault !== null) throw this.wrong(offset(node), `"used": ${fault}`);
      return [name, text];
    });
    return Object.fromEntries(amounts);
  }

  #json(field: string, node: unknown) {
    try {
      return jsonOf(node);
    } catch (error) {
      if (error instanceof NoJson) throw this.wrong(error.offset, `"${field}" ${error.message}`);
      throw error;
    }
  }

  #want(node: unknown): Wanted {
    const want = this.#map(node, '"want"', ['decision', 'ruleIndex', 'reason']).toJSON() as Wanted;
    if (!DECISIONS.includes(want.decision)) {
      throw this.wrong(offset(node), `"want" needs a "decision", one of ${DECISIONS.join(', ')}`);
    }
    const { ruleIndex = null, reason = '' } = want;
    if (ruleIndex !== null && !Number.isInteger(ruleIndex))
      throw this.wrong(offset(node), '"ruleIndex" must be the index of a rule, or null for none');
    if (typeof reason !== 'string')
      throw this.wrong(offset(node), '"reason" must be a string, a part of the reason');
    return want;
  }

  #map(node: unknown, what: string, known: readonly string[]): YAMLMap {
    if (!isMap(node)) throw this.wrong(offset(node), `${what} must be an object with ${known.join(', ')}`);
    this.known(node, known, what);
    return node;
  }
}
