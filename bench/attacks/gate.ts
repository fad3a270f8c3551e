// Toolgate as it is attacked: the service with a key for each suite, whose only Connected Tool is the suite's MCP server. What
// a task calls goes through /mcp with a session of its own, as a real client would.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Place, SERVE, settings, start } from '../service.ts';
import type { Hands, Outcome } from './agent.ts';
import { PYTHON } from './program.ts';
import { Requests } from './requests.ts';
import { type Call, Stage, SUITES, type SuiteName } from './stage.ts';

const SESSION_MINUTES = 30;
const STARTED_WITHIN_MS = 180_000;

/** One suite behind the gate: its key, and the harness's own way to its server. */
export interface Behind {
  suite: SuiteName;
  keyId: string;
  key: string;
  stage: Stage;
}

/** What a person who is asked answers. */
type Answer = 'approve' | 'deny';

export class Gate {
  readonly #requests: Requests;
  readonly #folder: string;

  private constructor(requests: Requests, folder: string) {
    this.#requests = requests;
    this.#folder = folder;
  }

  static async open(place: Place): Promise<Gate> {
    const config = path.join(place.folder, 'gate.yaml');
    const program = path.join(import.meta.dirname, 'server.py');
    const declared = SUITES.map(suite => {
      const args = ['-B', program, suite, socketOf(place.folder, suite)];
      return [suite, { command: PYTHON, args }] as const;
    });
    fs.writeFileSync(config, JSON.stringify({ stdioServers: Object.fromEntries(declared) }));
    const env = await settings('gate', 'sqlite', place);
    const command = [process.execPath, ...SERVE];
    const { url } = await start('gate', command, { ...env, TOOLGATE_CONFIG: config }, place);
    return new Gate(new Requests(url, env['TOOLGATE_ADMIN_TOKEN'] ?? ''), place.folder);
  }

  /** A key with one Connected Tool, whose server is started by asking it for its tools. */
  async connect(suite: SuiteName, policyId: string): Promise<Behind> {
    const { id: keyId, key } = await this.#requests.admin<{ id: string; key: string }>('POST', 'keys', {
      name: suite,
      policyId,
    });
    const tool = { name: suite, transport: 'stdio', server: suite };
    const { id } = await this.#requests.admin('POST', `keys/${keyId}/connected-tools`, tool);
    const stage = await this.#started(
      `keys/${keyId}/connected-tools/${id}/test`,
      socketOf(this.#folder, suite),
    );
    return { suite, keyId, key, stage };
  }

  /** The suite's server, once it has listed its tools; on a busy machine Python takes long to load AgentDojo. */
  async #started(test: string, socket: string): Promise<Stage> {
    const deadline = performance.now() + STARTED_WITHIN_MS;
    for (;;) {
      const { ok, error } = await this.#requests.admin<{ ok: boolean; error: string | null }>('POST', test);
      if (ok) return Stage.open(socket);
      if (performance.now() > deadline) throw new Error(`A suite did not start: ${error}`);
      await Bun.sleep(500);
    }
  }

  /** Saves a policy file and returns its id. */
  async save(name: string, text: string): Promise<string> {
    return (await this.#requests.admin('POST', 'policies', { name, text })).id;
  }

  async putInForce({ keyId }: Behind, policyId: string): Promise<void> {
    await this.#requests.admin('PATCH', `keys/${keyId}`, { policyId });
  }

  /** Begins a task: a session of its own, which is told what the person wants. */
  async begin({ suite, key }: Behind, prompt: string): Promise<Hands> {
    const session = { label: suite, ttlMinutes: SESSION_MINUTES };
    const { token } = await this.#requests.post<{ token: string }>('/v1/sessions', key, session);
    await this.#requests.post('/v1/told', token, { text: prompt });
    return {
      own: call => this.#make(suite, token, call, 'approve'),
      injected: call => this.#make(suite, token, call, 'deny'),
    };
  }

  /** Makes a call. If it waits for a person, they answer, and an approved call is made again. */
  async #make(suite: string, token: string, call: Call, answer: Answer): Promise<Outcome> {
    const { ran, text, referenceId } = await this.#requests.call(token, suite, call);
    if (referenceId === undefined) return { ran, text, asked: false };
    await this.#answer(referenceId, answer);
    if (answer === 'deny') return { ran: false, text, asked: true };
    const again = await this.#requests.call(token, suite, call, referenceId);
    if (!again.ran) throw new Error(`An approved call was not run: ${again.text}`);
    return { ...again, asked: true };
  }

  /** Whoever approves has looked at the call. */
  async #answer(referenceId: string, action: Answer): Promise<void> {
    const route = `approvals/${referenceId}`;
    const seen = action === 'approve' && (await this.#requests.admin<Looked>('GET', route)).details?.digest;
    await this.#requests.admin('POST', `${route}/resolve`, { action, ...(seen && { seen }) });
  }
}

interface Looked {
  details?: { digest: string };
}

const socketOf = (folder: string, suite: string): string => path.join(folder, `${suite}.sock`);
