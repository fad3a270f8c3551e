// A Slack to test against. It imitates what Slack documents:
// - Web API (docs.slack.dev/apis/web-api): bearer token; a form or, for chat.*, JSON; `{"ok": false, "error": …}` with
//   status 200; rate limits with status 429, `ratelimited` and `Retry-After` in seconds. users.info takes a form only,
//   and leaves the e-mail out without the scope users:read.email.
// - Block Kit (reference/block-kit): 50 blocks; 3000 characters in a section's text, 10 fields of 2000; 25 elements in
//   actions; 75 characters on a button, 255 in its action_id, 2000 in its value, 3000 in its url. One fault refuses the
//   whole message (`invalid_blocks`).
// - Interactivity (interactivity/handling-user-interaction): a form with `payload`, signed with v0 HMAC-SHA256 over
//   time and raw body; the answer must come within 3 s with status 200; buttons with a url are reported too; a
//   response_url works 5 times within 30 minutes. Slack encodes payloads as PHP does: `\/`, and \u escapes outside ASCII.
// Slack repeats events that were not acknowledged, with X-Slack-Retry-Num; here pressed buttons are repeated so too.

import { createHmac, randomUUID } from 'node:crypto';

const TEAM = 'T0HOME';
const ACKNOWLEDGE_MS = 3000;
const RESPONSES = 5;
const RESPONSE_MS = 30 * 60_000;

export interface SlackPerson {
  id: string;
  team_id: string;
  deleted: boolean;
  is_bot: boolean;
  is_email_confirmed: boolean;
  profile: { email?: string; real_name: string };
}

export interface Block {
  type: string;
  text?: { type: string; text: string };
  fields?: { type: string; text: string }[];
  elements?: Button[];
}

interface Button {
  type: string;
  action_id: string;
  text: { text: string };
  value?: string;
  url?: string;
  style?: string;
  confirm?: object;
}

export interface Posted {
  channel: string;
  ts: string;
  text: string;
  blocks: Block[];
  /** How often it was changed. */
  edits: number;
  deleted: boolean;
}

/** How a method answers instead: a status, an error of Slack's, a wait, or nothing at all. */
export type SlackManner =
  | { status: number }
  | { error: string }
  | { retryAfter: number }
  | { slowMs: number }
  | 'hang'
  | 'garbage';

interface ApiCall {
  method: string;
  args: Record<string, string>;
}

interface PressOptions {
  user: SlackPerson;
  /** Where the service is. */
  at: string;
  /** Where Slack would post it. */
  team?: string;
  timestamp?: number;
  secret?: string;
  /** Changes the payload before it is signed. */
  forge?: (payload: Record<string, unknown>) => Record<string, unknown>;
  /** The body that is sent; the signature is that of the original. */
  tamper?: (body: string) => string;
  /** Reports the press once more, although it was acknowledged. */
  repeat?: boolean;
}

export class FakeSlack {
  readonly token = `xoxb-${randomUUID()}`;
  readonly signingSecret = randomUUID().replaceAll('-', '');
  readonly messages: Posted[] = [];
  /** What single people were told, and nobody else. */
  readonly whispers: { user: string; text: string }[] = [];
  readonly calls: ApiCall[] = [];
  readonly people = new Map<string, SlackPerson>();
  /** Channels by name, and whether the bot is in them. */
  readonly channels = new Map([['#approvals', { id: 'C0APPROVALS', joined: true }]]);
  hasEmailScope = true;
  /** Set for a method, it is asked before each of its calls; null means as usual. */
  readonly manners = new Map<string, () => SlackManner | null>();
  readonly #server: Bun.Server<undefined>;
  readonly #responses = new Map<string, { user: string; left: number; until: number }>();
  #clock = 0;

  constructor() {
    this.#server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: request => this.#take(request) });
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  /** The settings of a service that uses this Slack. */
  get env(): Record<string, string> {
    return {
      TOOLGATE_SLACK_BOT_TOKEN: this.token,
      TOOLGATE_SLACK_SIGNING_SECRET: this.signingSecret,
      TOOLGATE_SLACK_API_URL: `${this.origin}/api`,
    };
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }

  /** The next `times` calls of a method are answered so. */
  answerNext(method: string, times: number, manner: SlackManner): void {
    let left = times;
    this.manners.set(method, () => (left-- > 0 ? manner : null));
  }

  person(email: string | null, more: Partial<SlackPerson> = {}): SlackPerson {
    const id = `U${randomUUID().replaceAll('-', '').slice(0, 10).toUpperCase()}`;
    const profile = { real_name: 'Somebody 🏴󠁧󠁢󠁥󠁮󠁧󠁿', ...(email === null ? {} : { email }) };
    const rest = { team_id: TEAM, deleted: false, is_bot: false, is_email_confirmed: true };
    const person = { id, ...rest, profile, ...more };
    this.people.set(id, person);
    return person;
  }

  /** The message about an approval; throws until there is one. */
  about(referenceId: string): Posted {
    const found = this.messages.find(each => JSON.stringify(each.blocks).includes(referenceId));
    if (found === undefined) throw new Error('nothing was posted about it');
    return found;
  }

  /** Presses a button of a message. Returns the status of each try. */
  async press(message: Posted, actionId: string, options: PressOptions): Promise<number[]> {
    const { forge = payload => payload } = options;
    const payload = forge(this.#payload(message, actionId, options));
    const body = new URLSearchParams({ payload: phpJson(payload) }).toString();
    const statuses: number[] = [];
    for (const retry of [null, '1', '2']) {
      const status = await this.#deliver(body, retry, options);
      statuses.push(status);
      if (status !== 0 && status < 500 && !(options.repeat && retry === null)) break;
    }
    return statuses;
  }

  #payload(message: Posted, actionId: string, { user, team = TEAM }: PressOptions): Record<string, unknown> {
    const button = buttonsOf(message).find(each => each.action_id === actionId);
    if (button === undefined) throw new Error(`the message has no button ${actionId}`);
    const { channel, ts } = message;
    const path = `/actions/${team}/${randomUUID()}`;
    this.#responses.set(path, { user: user.id, left: RESPONSES, until: Date.now() + RESPONSE_MS });
    return {
      type: 'block_actions',
      user: { id: user.id, username: user.profile.real_name, team_id: user.team_id },
      api_app_id: 'A0TOOLGATE',
      container: { type: 'message', message_ts: ts, channel_id: channel, is_ephemeral: false },
      trigger_id: `${randomUUID()}`,
      team: { id: team, domain: 'home' },
      enterprise: null,
      is_enterprise_install: false,
      channel: { id: channel, name: 'approvals' },
      message: { type: 'message', ts, text: message.text, blocks: message.blocks },
      state: { values: {} },
      response_url: this.origin + path,
      actions: [{ ...button, block_id: 'b1', action_ts: `${Date.now() / 1000}` }],
    };
  }

  async #deliver(body: string, retry: string | null, options: PressOptions): Promise<number> {
    const { at, timestamp = Math.floor(Date.now() / 1000), secret = this.signingSecret, tamper } = options;
    const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex');
    const response = await fetch(`${at}/v1/slack/interactions`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        'X-Slack-Request-Timestamp': String(timestamp),
        'X-Slack-Signature': `v0=${signature}`,
        ...(retry !== null && { 'X-Slack-Retry-Num': retry, 'X-Slack-Retry-Reason': 'http_timeout' }),
      },
      body: tamper === undefined ? body : tamper(body),
      signal: AbortSignal.timeout(ACKNOWLEDGE_MS),
    }).catch(() => null);
    await response?.text();
    return response?.status ?? 0;
  }

  async #take(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith('/actions/'))
      return this.#respond(pathname, (await request.json()) as Record<string, unknown>);
    const method = pathname.replace('/api/', '');
    const args = await argsOf(request, method);
    this.calls.push({ method, args });
    const manner = this.manners.get(method)?.() ?? null;
    if (typeof manner === 'object' && manner !== null && 'slowMs' in manner) await Bun.sleep(manner.slowMs);
    else if (manner !== null) return badly(manner);
    if (request.headers.get('authorization') !== `Bearer ${this.token}`) return refusal('invalid_auth');
    switch (method) {
      case 'auth.test':
        return accepted({ team_id: TEAM, user_id: 'U0BOT', bot_id: 'B0BOT' });
      case 'chat.postMessage':
        return this.#post(args);
      case 'chat.update':
        return this.#update(args);
      case 'users.info':
        return this.#user(args['user'] ?? '');
      default:
        return refusal('unknown_method');
    }
  }

  #post({ channel: wanted = '', text = '', blocks = '[]' }: Record<string, string>): Response {
    const channel = this.channels.get(wanted);
    if (channel === undefined) return refusal('channel_not_found');
    if (!channel.joined) return refusal('not_in_channel');
    const read = JSON.parse(blocks) as Block[];
    if (!areBlocks(read)) return refusal('invalid_blocks');
    const ts = `${Math.floor(Date.now() / 1000)}.${String(++this.#clock).padStart(6, '0')}`;
    this.messages.push({ channel: channel.id, ts, text, blocks: read, edits: 0, deleted: false });
    return accepted({
      channel: channel.id,
      ts,
      message: { type: 'message', text, blocks: read, ts, team: TEAM },
    });
  }

  #update({ channel, ts, text = '', blocks = '[]' }: Record<string, string>): Response {
    const message = this.messages.find(each => each.channel === channel && each.ts === ts);
    if (message === undefined || message.deleted) return refusal('message_not_found');
    const read = JSON.parse(blocks) as Block[];
    if (!areBlocks(read)) return refusal('invalid_blocks');
    Object.assign(message, { text, blocks: read, edits: message.edits + 1 });
    return accepted({ channel, ts, text });
  }

  #user(id: string): Response {
    const person = this.people.get(id);
    if (person === undefined) return refusal('user_not_found');
    const { email, ...profile } = person.profile;
    const shown = this.hasEmailScope && email !== undefined ? { ...profile, email } : profile;
    return accepted({ user: { ...person, is_stranger: false, profile: shown } });
  }

  #respond(path: string, { response_type, replace_original, text }: Record<string, unknown>): Response {
    const response = this.#responses.get(path);
    if (response === undefined || response.left === 0 || response.until < Date.now())
      return new Response('Expired url', { status: 404 });
    response.left--;
    if (response_type !== 'ephemeral' || replace_original !== false)
      return new Response('no', { status: 500 });
    this.whispers.push({ user: response.user, text: String(text) });
    return new Response('ok');
  }
}

export function buttonsOf({ blocks }: Posted): Button[] {
  return blocks.flatMap(each => each.elements ?? []);
}

/** All that people read in a message. */
export function readableIn({ text, blocks }: Posted): string {
  const parts = blocks.flatMap(each => [
    each.text?.text ?? '',
    ...(each.fields ?? []).map(field => field.text),
  ]);
  return [text, ...parts].join('\n');
}

function accepted(answer: object): Response {
  return Response.json({ ok: true, ...answer });
}

function refusal(error: string): Response {
  return Response.json({ ok: false, error });
}

function badly(manner: Exclude<SlackManner, { slowMs: number }>): Response | Promise<Response> {
  if (manner === 'hang') return new Promise(() => {});
  if (manner === 'garbage') return new Response('<html>proxy error</html>', { status: 200 });
  if ('status' in manner) return new Response('no', { status: manner.status });
  if ('error' in manner) return refusal(manner.error);
  const headers = { 'Retry-After': String(manner.retryAfter) };
  return Response.json({ ok: false, error: 'ratelimited' }, { status: 429, headers });
}

async function argsOf(request: Request, method: string): Promise<Record<string, string>> {
  const isJson = (request.headers.get('content-type') ?? '').startsWith('application/json');
  if (isJson) return method.startsWith('chat.') ? ((await request.json()) as Record<string, string>) : {};
  return Object.fromEntries(new URLSearchParams(await request.text()));
}

const within = (text: string | undefined, max: number): boolean =>
  text === undefined || (text.length >= 1 && text.length <= max);

function areBlocks(blocks: Block[]): boolean {
  return blocks.length >= 1 && blocks.length <= 50 && blocks.every(isBlock);
}

function isBlock({ type, text, fields = [], elements = [] }: Block): boolean {
  if (type === 'actions') return elements.length >= 1 && elements.length <= 25 && elements.every(isButton);
  if (type !== 'section' || (text === undefined && fields.length === 0) || fields.length > 10) return false;
  return within(text?.text, 3000) && fields.every(each => within(each.text, 2000));
}

function isButton({ type, action_id, text, value, url }: Button): boolean {
  const texts = within(text.text, 75) && within(action_id, 255) && within(value, 2000) && within(url, 3000);
  return type === 'button' && texts && (url === undefined || URL.canParse(url));
}

export function phpJson(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll('/', '\\/')
    .replace(/[^\x20-\x7e]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
