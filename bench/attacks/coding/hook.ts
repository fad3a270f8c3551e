// The hook of Claude Code. An event goes through the hook's own program (`toolgate hook claude-code`, a process for each event), or
// straight to the address that this program asks, which answers with what the program has to print.

import * as path from 'node:path';
import type { JsonObject } from '../../../src/core/wire/json.ts';
import type { Decision } from './scene.ts';

export const TOOLGATE = path.join(import.meta.dirname, '../../../bin/toolgate');
export const AGENT = 'claude-code';

export type Way = 'program' | 'door';
/** What a call that needs approval is answered with: a question at the terminal, or a denial until somebody has approved it. */
export type Pending = 'ask' | 'deny';

export interface Printed {
  stdout: string;
  stderr: string;
  exitCode: number;
}

export class Hook {
  readonly #url: string;
  readonly #env: Record<string, string>;
  readonly #key: string;

  constructor(url: string, env: Record<string, string>, key: string) {
    this.#url = url;
    this.#env = env;
    this.#key = key;
  }

  send(event: JsonObject, pending: Pending, way: Way): Promise<Printed> {
    return way === 'program' ? this.#byProgram(event, pending) : this.#byDoor(event, pending);
  }

  async #byProgram(event: JsonObject, pending: Pending): Promise<Printed> {
    const child = Bun.spawn([TOOLGATE, 'hook', AGENT, '--pending', pending], {
      env: { ...process.env, ...this.#env, TOOLGATE_API_KEY: this.#key },
      stdin: new Blob([JSON.stringify(event)]),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const outputs = [child.stdout, child.stderr].map(stream => new Response(stream).text());
    const [stdout = '', stderr = ''] = await Promise.all(outputs);
    return { stdout, stderr, exitCode: await child.exited };
  }

  async #byDoor(event: JsonObject, pending: Pending): Promise<Printed> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${this.#key}` };
    const address = `${this.#url}/v1/hooks/${AGENT}/command?pending=${pending}`;
    const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(event) });
    if (!response.ok) throw new Error(`${address} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Printed;
  }
}

export function decisionOf({ stdout, stderr }: Printed): Decision {
  const answer = JSON.parse(stdout || '{}') as { hookSpecificOutput?: { permissionDecision?: Decision } };
  const decision = answer.hookSpecificOutput?.permissionDecision;
  if (decision === undefined) throw new Error(`The hook gave no decision: ${stdout}${stderr}`);
  return decision;
}
