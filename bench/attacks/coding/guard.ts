// Toolgate as coding agents meet it: the service, a policy made from the pack for the folder of the project, a key, and the hook.

import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { JsonObject } from '../../../src/core/wire/json.ts';
import { type Place, SERVE, settings, start } from '../../service.ts';
import { Requests } from '../requests.ts';
import { AGENT, decisionOf, Hook, TOOLGATE, type Way } from './hook.ts';
import { type Call, type Decision, PROJECT } from './scene.ts';

export class CodingGuard {
  readonly #requests: Requests;
  readonly #hook: Hook;
  #calls = 0;

  private constructor(requests: Requests, hook: Hook) {
    this.#requests = requests;
    this.#hook = hook;
  }

  static async open(place: Place): Promise<CodingGuard> {
    const env = await settings('coding', 'sqlite', place);
    const { url } = await start('coding', [process.execPath, ...SERVE], env, place);
    const home = path.join(place.folder, 'home');
    fs.mkdirSync(home);
    const own = { ...env, TOOLGATE_BASE_URL: url, HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home };
    toolgate(own, 'policies', 'new', '--from', 'coding', '--folder', PROJECT);
    const key = toolgate(own, 'keys', 'create', AGENT, '--policy', 'coding').trim();
    return new CodingGuard(new Requests(url, env['TOOLGATE_ADMIN_TOKEN'] ?? ''), new Hook(url, own, key));
  }

  /** Tells what the person wrote. */
  prompt(run: string, text: string, way: Way): Promise<void> {
    return this.#tell({ ...eventOf(run, 'UserPromptSubmit'), prompt: text }, way);
  }

  /** What becomes of a call of an attacker: nobody approves it. */
  async judge(run: string, call: Call, way: Way): Promise<Decision> {
    return decisionOf(await this.#hook.send(this.#before(run, call), 'ask', way));
  }

  /**
   * Makes a call of the agent's own, which a person approves if they are asked, and tells what it returns. `grants` says whether
   * they approve all that the rule would ask about in the next hour of the session.
   */
  async make(run: string, call: Call, way: Way, grants = false): Promise<Decision> {
    const event = this.#before(run, call);
    const first = await this.#hook.send(event, 'deny', way);
    const approval = /waits for the approval ([0-9a-f-]{36})/.exec(first.stdout)?.[1];
    if (approval === undefined && decisionOf(first) === 'deny') return 'deny';
    if (approval !== undefined) {
      await this.#approve(approval, grants);
      const again = await this.#hook.send(event, 'deny', way);
      if (decisionOf(again) !== 'allow') throw new Error(`An approved call was not allowed: ${again.stdout}`);
    }
    await this.#tell({ ...event, hook_event_name: 'PostToolUse', tool_response: call.returns ?? {} }, way);
    return approval === undefined ? 'allow' : 'ask';
  }

  #before(run: string, { tool, input }: Call): JsonObject {
    const tool_use_id = `toolu_${++this.#calls}`;
    return { ...eventOf(run, 'PreToolUse'), tool_name: tool, tool_input: input, tool_use_id };
  }

  async #tell(event: JsonObject, way: Way): Promise<void> {
    const { exitCode, stderr } = await this.#hook.send(event, 'deny', way);
    if (exitCode !== 0) throw new Error(`The hook did not take ${event['hook_event_name']}: ${stderr}`);
  }

  /** Whoever approves has looked at the call. */
  async #approve(id: string, grants: boolean): Promise<void> {
    const looked = await this.#requests.admin<{ details?: { digest: string } }>('GET', `approvals/${id}`);
    const grant = grants ? { duration: '1h', only: 'session' } : {};
    const answer = { action: 'approve', seen: looked.details?.digest, ...grant };
    await this.#requests.admin('POST', `approvals/${id}/resolve`, answer);
  }
}

const eventOf = (run: string, name: string): JsonObject => ({
  session_id: run,
  cwd: PROJECT,
  permission_mode: 'default',
  hook_event_name: name,
});

function toolgate(env: Record<string, string>, ...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(TOOLGATE, words, {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`toolgate ${words.join(' ')} failed: ${stderr}`);
  return stdout;
}
