// Case files: a policy, optionally a session's scope, and calls with the decision that each must get. Faults in a file
// are reported with their line. A misspelt field is a fault too, because it would silently test less.

import { dirname, join } from 'node:path';
import { isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';
import type { CompiledPolicy } from '../core/compiled-policy.ts';
import { DECISIONS, type Decided, type Decision } from '../core/decide.ts';
import { scopeFault, serverNameFault, toolNameFault } from '../core/name.ts';
import { simulate } from '../core/simulate.ts';
import { EXIT } from './exit.ts';
import { type IO, readText } from './io.ts';
import { compiled, cutOut, policyIn, readPolicy } from './policy-file.ts';
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
  want: Wanted;
}

interface CaseFile {
  policy: CompiledPolicy;
  scopeTools: string[] | null;
  calls: Case[];
}

export interface Failure {
  file: string;
  line: number;
  call: string;
  wanted: Wanted;
  got: Wanted;
}

export function failureOf(file: string, { policy, scopeTools }: CaseFile, call: Case): Failure | null {
  const got = simulate(
    policy,
    { serverName: call.server, toolName: call.tool },
    { at: Date.now(), scopeTools },
  );
  const wanted = call.want;
  const fields = Object.keys(wanted) as (keyof Wanted & keyof Decided)[];
  if (fields.every(field => wanted[field] === got[field])) return null;
  const { decision, ruleIndex, reason } = got;
  return {
    file,
    line: call.line,
    call: `${call.server}__${call.tool}`,
    wanted,
    got: { decision, ruleIndex, reason },
  };
}

export async function readCases(io: IO, file: string): Promise<CaseFile> {
  return new Reader(io, file, await readText(io, file), EXIT.noAnswer).read();
}

class Reader extends YamlReader {
  async read(): Promise<CaseFile> {
    const root = this.#map(this.root(), 'a case file', ['policy', 'session', 'calls']);
    const policy = await this.#policy(root.get('policy', true));
    const scopeTools = this.#scope(root.get('session', true));
    return { policy, scopeTools, calls: this.#calls(root) };
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
    if (node === undefined || node === null) return null;
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

  #calls(root: YAMLMap): Case[] {
    const calls = root.get('calls', true);
    if (!isSeq(calls)) throw this.wrong(offset(root), '"calls" must be a list');
    if (calls.items.length === 0)
      throw this.wrong(offset(calls), '"calls" is empty: nothing would be tested');
    return calls.items.map(item => this.#call(item));
  }

  #call(node: unknown): Case {
    const map = this.#map(node, 'a call', ['server', 'tool', 'args', 'want']);
    const want = this.#want(map.get('want', true) ?? map);
    const { server, tool } = map.toJSON() as { server?: unknown; tool?: unknown };
    const at = offset(map);
    if (typeof server !== 'string' || serverNameFault(server) !== null)
      throw this.wrong(
        at,
        `"server" ${typeof server === 'string' ? serverNameFault(server) : 'must be a string'}`,
      );
    if (typeof tool !== 'string' || toolNameFault(tool) !== null)
      throw this.wrong(at, `"tool" ${typeof tool === 'string' ? toolNameFault(tool) : 'must be a string'}`);
    return { line: this.line(at), server, tool, want };
  }

  #want(node: unknown): Wanted {
    const want = this.#map(node, '"want"', ['decision', 'ruleIndex', 'reason']).toJSON() as Wanted;
    if (!DECISIONS.includes(want.decision)) {
      throw this.wrong(offset(node), `"want" needs a "decision", one of ${DECISIONS.join(', ')}`);
    }
    return want;
  }

  #map(node: unknown, what: string, known: readonly string[]): YAMLMap {
    if (!isMap(node)) throw this.wrong(offset(node), `${what} must be an object with ${known.join(', ')}`);
    this.known(node, known, what);
    return node;
  }
}
