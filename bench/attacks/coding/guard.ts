// Toolgate as coding agents meet it: the service, a policy made from the pack for the folder of the project, a key, and the hook. An
// event goes through the hook's own program (`toolgate hook claude-code`, a process for each event), or straight to the
// address that this program asks, which answers with what the program has to print.

import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { JsonObject } from '../../../src/core/wire/json.ts';
import { type Place, SERVE, settings, start } from '../../service.ts';
import { type Call, type Decision, PROJECT } from './scene.ts';

const TOOLGATE = path.join(import.meta.dirname, '../../../bin/toolgate');
const AGENT = 'claude-code';

export type Way = 'program' | 'door';
type Pending = 'ask' | 'deny';

interface Printed {
  stdout: string;
  stderr: string;
  exitCode: number;
}

export class CodingGuard {
  readonly #url: string;
  readonly #env: Record<string, string>;
  readonly #key: string;
  #calls = 0;

  private constructor(url: string, env: Record<string, string>, key: string) {
    this.#url = url;
    this.#env = env;
    this.#key = key;
  }

  static async open(place: Place): Promise<CodingGuard> {
    const env = await settings('coding', 'sqlite', place);
    const { url } = await start('coding', [process.execPath, ...SERVE], env, place);
    const home = path.join(place.folder, 'home');
    fs.mkdirSync(home);
    const own = { ...env, TOOLGATE_BASE_URL: url, HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home };
    toolgate(own, 'policies', 'new', '--from', 'coding', '--folder', PROJECT);
    return new CodingGuard(url, own, toolgate(own, 'keys', 'create', AGENT, '--policy', 'coding').trim());
  }

  /** Tells what the person wrote. */
  prompt(run: string, text: string, way: Way): Promise<void> {
    return this.#tell({ ...this.#event(run, 'UserPromptSubmit'), prompt: text }, way);
  }

  /** What becomes of a call of an attacker: nobody approves it. */
  async judge(run: string, call: Call, way: Way): Promise<Decision> {
    return decisionOf(await this.#ask(this.#before(run, call), 'ask', way));
  }

  /** Makes a call of the agent's own, which a person approves if they are asked, and tells what it returns. */
  async make(run: string, call: Call, way: Way): Promise<Decision> {
    const event = this.#before(run, call);
    const first = await this.#ask(event, 'deny', way);
    const approval = /waits for the approval ([0-9a-f-]{36})/.exec(first.stdout)?.[1];
    if (approval === undefined && decisionOf(first) === 'deny') return 'deny';
    if (approval !== undefined) {
      await this.#approve(approval);
      const again = await this.#ask(event, 'deny', way);
      if (decisionOf(again) !== 'allow') throw new Error(`An approved call was not allowed: ${again.stdout}`);
    }
    const after = { ...event, hook_event_name: 'PostToolUse', tool_response: call.returns ?? {} };
    await this.#tell(after, way);
    return approval === undefined ? 'allow' : 'ask';
  }

  #before(run: string, { tool, input }: Call): JsonObject {
    const tool_use_id = `toolu_${++this.#calls}`;
    return { ...this.#event(run, 'PreToolUse'), tool_name: tool, tool_input: input, tool_use_id };
  }

  #event(run: string, name: string): JsonObject {
    return { session_id: run, cwd: PROJECT, permission_mode: 'default', hook_event_name: name };
  }

  async #tell(event: JsonObject, way: Way): Promise<void> {
    const { exitCode, stderr } = await this.#ask(event, 'deny', way);
    if (exitCode !== 0) throw new Error(`The hook did not take ${event['hook_event_name']}: ${stderr}`);
  }

  #ask(event: JsonObject, pending: Pending, way: Way): Promise<Printed> {
    return way === 'program' ? this.#byProgram(event, pending) : this.#byDoor(event, pending);
  }

  async #byProgram(event: JsonObject, pending: Pending): Promise<Printed> {
    const child = Bun.spawn([TOOLGATE, 'hook', AGENT, '--pending', pending], {
      env: { ...process.env, ...this.#env, TOOLGATE_API_KEY: this.#key },
      stdin: new Blob([JSON.stringify(event)]),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { stdout, stderr, exitCode: await child.exited };
  }

  async #byDoor(event: JsonObject, pending: Pending): Promise<Printed> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${this.#key}` };
    const address = `${this.#url}/v1/hooks/${AGENT}/command?pending=${pending}`;
    const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(event) });
    if (!response.ok)
      throw new Error(`The hook's door answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Printed;
  }

  /** Whoever approves has looked at the call. */
  async #approve(id: string): Promise<void> {
    const authorization = `Bearer ${this.#env['TOOLGATE_ADMIN_TOKEN']}`;
    const headers = { 'content-type': 'application/json', authorization };
    const address = `${this.#url}/admin/v1/approvals/${id}`;
    const looked = (await (await fetch(address, { headers })).json()) as { details?: { digest: string } };
    const body = JSON.stringify({ action: 'approve', seen: looked.details?.digest });
    const response = await fetch(`${address}/resolve`, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(`An approval could not be given: ${await response.text()}`);
  }
}

/** An event that cannot be judged is refused, by exit code 2. */
function decisionOf({ stdout, stderr, exitCode }: Printed): Decision {
  if (exitCode === 2) return 'deny';
  const answer = JSON.parse(stdout || '{}') as { hookSpecificOutput?: { permissionDecision?: Decision } };
  const decision = answer.hookSpecificOutput?.permissionDecision;
  if (decision === undefined) throw new Error(`The hook gave no decision: ${stdout}${stderr}`);
  return decision;
}

function toolgate(env: Record<string, string>, ...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(TOOLGATE, words, {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`toolgate ${words.join(' ')} failed: ${stderr}`);
  return stdout;
}
