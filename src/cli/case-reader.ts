// Reads case files: a policy, optionally a session's scope and a coding agent's working folder, and calls with the decision
// that each must get, alone or as the steps of one run. Faults in a file are reported with their line. A misspelt field is
// a fault too, because it would silently test less.

import { dirname, join } from 'node:path';
import { isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';
import { DECISIONS } from '../core/decision/decide.ts';
import { type Tried, usedFault } from '../core/decision/simulate.ts';
import { attributesFault } from '../core/flows/attributes.ts';
import type { CompiledPolicy } from '../core/policy/compiled-policy.ts';
import { triedMarkFault } from '../core/policy/mark-names.ts';
import { scopeFault, serverNameFault, toolNameFault } from '../core/text/name.ts';
import { isObject, type Json, type JsonObject } from '../core/wire/json.ts';
import type { Case, CaseFile, Step, Wanted, WantedResult } from './cases.ts';
import { EXIT } from './exit.ts';
import { type IO, readText } from './io.ts';
import { readTime, TIME_FORM } from './moment.ts';
import { compiled, cutOut, policyIn, readPolicy } from './policy-file.ts';
import { jsonOf, NoJson } from './yaml-json.ts';
import { offset, YamlReader } from './yaml-reader.ts';

export async function readCases(io: IO, file: string): Promise<CaseFile> {
  return new Reader(io, file, await readText(io, file), EXIT.noAnswer).read();
}

/** What a call has of its own, and what all calls of a run share. */
const OF_CALL = ['server', 'tool', 'args', 'at', 'folder', 'used'];
const OF_RUN = ['session', 'attributes', 'keyName', 'person', 'marks', 'known'];
const CALL_FIELDS = [...OF_CALL, ...OF_RUN, 'approved', 'result', 'want'];
const SEQUENCE_FIELDS = [...OF_RUN, 'at', 'folder', 'said', 'steps'];
const STEP_FIELDS = ['said', 'call', 'approved', 'result', 'want'];

const NOT_COMPARED =
  'this "result" is compared with nothing: say in "want" what becomes of it, such as result: { hidden: { secrets: 1 } }';

/** What all calls of a file or of a run share. */
type Shared = Omit<Tried, 'at' | 'args' | 'used'> & { at?: number };

class Reader extends YamlReader {
  async read(): Promise<CaseFile> {
    const root = this.#map(this.root(), 'a case file', ['policy', 'session', 'folder', 'calls']);
    const policy = await this.#policy(root.get('policy', true));
    const session = root.get('session', true);
    const shared = session == null ? {} : { session: '', scopeTools: this.#scope(session) };
    const folder = this.#text(root, 'folder');
    return { policy, cases: this.#cases(root, policy, { ...shared, folder }) };
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

  #cases(root: YAMLMap, policy: CompiledPolicy, shared: Shared): Case[] {
    const calls = this.#list(root, 'calls', 'nothing would be tested');
    return calls.map(item => {
      if (isMap(item) && item.has('steps')) return this.#sequence(item, policy, shared);
      const map = this.#map(item, 'a call', CALL_FIELDS);
      const run = { ...shared, ...this.#ofRun(map, policy, shared) };
      const made = this.#made(map);
      if (made.result !== undefined && made.want.result === undefined)
        throw this.wrong(offset(map.get('result', true)), NOT_COMPARED);
      return { marks: run.marks, known: run.known, steps: [{ ...this.#call(map, policy, run), ...made }] };
    });
  }

  /** Several calls in one run. */
  #sequence(item: YAMLMap, policy: CompiledPolicy, shared: Shared): Case {
    const map = this.#map(item, 'a sequence', SEQUENCE_FIELDS);
    const run: Shared = {
      ...shared,
      ...this.#ofRun(map, policy, shared),
      folder: this.#text(map, 'folder') ?? shared.folder,
      at: this.#time(map) ?? Date.now(),
    };
    const said = this.#text(map, 'said');
    const known = [...(run.known ?? []), ...(said === undefined ? [] : [said])];
    const steps = this.#list(map, 'steps', 'nothing would be tested').map(step =>
      this.#step(step, policy, run),
    );
    return { marks: run.marks, known, steps };
  }

  #step(item: unknown, policy: CompiledPolicy, run: Shared): Step {
    const map = this.#map(item, 'a step', STEP_FIELDS);
    const node: unknown = map.get('call', true);
    if (node === undefined) throw this.wrong(offset(map), 'a step needs a "call"');
    const call = this.#call(this.#map(node, '"call"', OF_CALL), policy, run);
    const said = this.#text(map, 'said');
    return { ...call, line: this.line(offset(map)), said, ...this.#made(map) };
  }

  /** What is wanted of a call, whether it is made, and what it returns then. */
  #made(map: YAMLMap): Pick<Step, 'want' | 'approved' | 'result'> {
    const wanted: unknown = map.get('want', true) ?? map;
    const want = this.#want(wanted);
    const approved = this.#bool(map, 'approved');
    if (approved && want.decision !== 'pending')
      throw this.wrong(
        offset(map.get('approved', true)),
        '"approved" is for calls that are wanted to be pending',
      );
    const result = map.get('result', true);
    if (result === undefined && want.result !== undefined)
      throw this.wrong(
        offset(wanted),
        '"want" has a "result", so the call needs one: an MCP result or a text',
      );
    if (result !== undefined && want.decision !== 'allow' && !approved)
      throw this.wrong(
        offset(result),
        '"result" is for calls that are made: wanted to be allowed, or approved',
      );
    return { want, approved, result: result === undefined ? undefined : this.#json('result', result) };
  }

  #ofRun(map: YAMLMap, policy: CompiledPolicy, shared: Shared): Shared {
    return {
      session: this.#text(map, 'session') ?? shared.session,
      attributes: this.#attributes(map),
      keyName: this.#text(map, 'keyName'),
      person: this.#text(map, 'person'),
      marks: this.#texts(map, 'marks', name => triedMarkFault(policy, name)),
      known: this.#texts(map, 'known'),
    };
  }

  #call(map: YAMLMap, policy: CompiledPolicy, run: Shared): Omit<Step, 'want'> {
    const server = this.#text(map, 'server', serverNameFault);
    const tool = this.#text(map, 'tool', toolNameFault);
    if (server === undefined || tool === undefined)
      throw this.wrong(offset(map), `"${server === undefined ? 'server' : 'tool'}" must be a string`);
    const tried: Tried = {
      ...run,
      at: this.#time(map) ?? run.at ?? Date.now(),
      args: this.#object(map, 'args'),
      folder: this.#text(map, 'folder') ?? run.folder,
      used: this.#used(map, policy),
    };
    return { line: this.line(offset(map)), server, tool, tried };
  }

  #list(map: YAMLMap, field: string, whyNot: string): unknown[] {
    const list: unknown = map.get(field, true);
    if (!isSeq(list)) throw this.wrong(offset(list ?? map), `"${field}" must be a list`);
    if (list.items.length === 0) throw this.wrong(offset(list), `"${field}" is empty: ${whyNot}`);
    return list.items;
  }

  /** A text, or a list of texts. */
  #texts(map: YAMLMap, field: string, faultOf?: (text: string) => string | null): string[] | undefined {
    const node: unknown = map.get(field, true);
    if (node === undefined) return undefined;
    return (isSeq(node) ? node.items : [node]).map(item => {
      const text = isScalar(item) ? item.value : null;
      if (typeof text !== 'string')
        throw this.wrong(offset(item ?? node), `"${field}" must be a string, or a list of strings`);
      const fault = faultOf?.(text) ?? null;
      if (fault !== null) throw this.wrong(offset(item), `"${field}": ${fault}`);
      return text;
    });
  }

  #bool(map: YAMLMap, field: string): boolean {
    const node = map.get(field, true);
    if (node === undefined) return false;
    if (typeof node.value !== 'boolean') throw this.wrong(offset(node), `"${field}" must be true or false`);
    return node.value;
  }

  #text(map: YAMLMap, field: string, faultOf?: (text: string) => string | null): string | undefined {
    const node = map.get(field, true);
    if (node === undefined) return undefined;
    if (typeof node.value !== 'string') throw this.wrong(offset(node), `"${field}" must be a string`);
    const fault = faultOf?.(node.value) ?? null;
    if (fault !== null) throw this.wrong(offset(node), `"${field}" ${fault}`);
    return node.value;
  }

  #time(map: YAMLMap): number | undefined {
    const text = this.#text(map, 'at');
    if (text === undefined) return undefined;
    const at = readTime(text);
    if (at === null) throw this.wrong(offset(map.get('at', true)), `"at" must be ${TIME_FORM}`);
    return at;
  }

  #object(map: YAMLMap, field: string): JsonObject | undefined {
    const node = map.get(field, true);
    if (node === undefined) return undefined;
    const value = this.#json(field, node);
    if (!isObject(value)) throw this.wrong(offset(node), `"${field}" must be an object`);
    return value;
  }

  #attributes(map: YAMLMap): JsonObject | undefined {
    const attributes = this.#object(map, 'attributes');
    const fault = attributes === undefined ? null : attributesFault(attributes);
    if (fault !== null) throw this.wrong(offset(map.get('attributes', true)), `"attributes" ${fault}`);
    return attributes;
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

  #json(field: string, node: unknown): Json {
    try {
      return jsonOf(node);
    } catch (error) {
      if (error instanceof NoJson) throw this.wrong(error.offset, `"${field}" ${error.message}`);
      throw error;
    }
  }

  #want(node: unknown): Wanted {
    const map = this.#map(node, '"want"', ['decision', 'ruleIndex', 'reason', 'result']);
    const want = map.toJSON() as Wanted;
    if (!DECISIONS.includes(want.decision)) {
      throw this.wrong(offset(node), `"want" needs a "decision", one of ${DECISIONS.join(', ')}`);
    }
    const { ruleIndex = null, reason = '' } = want;
    if (ruleIndex !== null && !Number.isInteger(ruleIndex))
      throw this.wrong(offset(node), '"ruleIndex" must be the index of a rule, or null for none');
    if (typeof reason !== 'string')
      throw this.wrong(offset(node), '"reason" must be a string, a part of the reason');
    const result: unknown = map.get('result', true);
    return result === undefined ? want : { ...want, result: this.#wantedResult(result) };
  }

  #wantedResult(node: unknown): WantedResult {
    const map = this.#map(node, 'the wanted "result"', ['hidden', 'withheld', 'cut', 'text']);
    return {
      ...(map.has('hidden') && { hidden: this.#counts(map, 'hidden') }),
      ...(map.has('withheld') && { withheld: this.#bool(map, 'withheld') }),
      ...(map.has('cut') && { cut: this.#bool(map, 'cut') }),
      ...(map.has('text') && { text: this.#text(map, 'text') ?? '' }),
    };
  }

  #counts(map: YAMLMap, field: string): Record<string, number> {
    const node: unknown = map.get(field, true);
    const counts = isMap(node) ? (node.toJSON() as Record<string, unknown>) : { '': null };
    if (!Object.values(counts).every(each => Number.isSafeInteger(each) && (each as number) > 0))
      throw this.wrong(
        offset(node),
        `"${field}" must say how many of each were hidden: { secrets: 1 }, or {}`,
      );
    return counts as Record<string, number>;
  }

  #map(node: unknown, what: string, known: readonly string[]): YAMLMap {
    if (!isMap(node)) throw this.wrong(offset(node), `${what} must be an object with ${known.join(', ')}`);
    this.known(node, known, what);
    return node;
  }
}
