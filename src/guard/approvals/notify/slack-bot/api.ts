// Slack's Web API, called with the bot's token: posts and changes messages, and asks who a user is. Its answers are
// bounded in time and bytes, and its refusals become short sentences without secrets. message.ts makes the messages.

import { boundedBody } from '../../../outgoing/bounded-body.ts';
import { PinnedFetch } from '../../../outgoing/pinned-fetch.ts';

/** Shorter than the worker's lease, so that no other replica starts the same work meanwhile. */
const CALL_MS = 10_000;
/** Slack repeats a posted message in its answer. */
const ANSWER_BYTES = 512 * 1024;
const MOST_RETRY_SECONDS = 3600;

export interface SlackMessage {
  /** What phones show, and readers of the screen say. */
  text: string;
  blocks: object[];
}

/** The workspace in which the bot is, and the organisation if the workspace belongs to one. */
interface Home {
  team: string;
  enterprise: string | null;
}

/** What the program uses of a user as Slack describes one. */
export interface SlackUser {
  team: string;
  enterprise: string | null;
  email: string;
  isPerson: boolean;
  isActive: boolean;
}

export class SlackError extends Error {
  /** Slack's own code, such as `channel_not_found`; empty if Slack did not answer. */
  readonly code: string;
  /** How long Slack asks to wait, in milliseconds. */
  readonly retryAfter: number | null;

  constructor(message: string, code = '', retryAfter: number | null = null) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

type SlackReply = Record<string, unknown>;

export class SlackApi {
  readonly #url: string;
  readonly #token: string;
  // The address is the operator's own setting, so it may be anywhere.
  readonly #fetch = new PinnedFetch({ allowPrivate: true });
  readonly #timeoutMs: number;
  #home: Promise<Home> | null = null;

  constructor(url: string, token: string, timeoutMs = CALL_MS) {
    this.#url = url;
    this.#token = token;
    this.#timeoutMs = timeoutMs;
  }

  /** Returns the message's place, by which it can be changed. */
  async post(channel: string, message: SlackMessage): Promise<string> {
    const quiet = { unfurl_links: 'false', unfurl_media: 'false' };
    const answer = await this.#call('chat.postMessage', { channel, ...asForm(message), ...quiet });
    const place = placeOf(textIn(answer, 'channel'), textIn(answer, 'ts'));
    if (place === null) throw new SlackError('Slack’s answer does not say where the message is');
    return place;
  }

  async update(place: string, message: SlackMessage): Promise<void> {
    const [channel = '', ts = ''] = place.split('/');
    await this.#call('chat.update', { channel, ts, ...asForm(message) });
  }

  async user(id: string): Promise<SlackUser> {
    const user = partOf(await this.#call('users.info', { user: id }), 'user');
    const profile = partOf(user, 'profile');
    return {
      team: textIn(user, 'team_id'),
      enterprise: textIn(partOf(user, 'enterprise_user'), 'enterprise_id') || null,
      // Slack leaves it out without the scope users:read.email, and where a person must not see it.
      email: user['is_email_confirmed'] === false ? '' : textIn(profile, 'email'),
      isPerson: user['is_bot'] !== true && user['is_workflow_bot'] !== true && id !== 'USLACKBOT',
      isActive: user['deleted'] !== true,
    };
  }

  /** A token belongs to one workspace for ever, so Slack is asked once. */
  home(): Promise<Home> {
    this.#home ??= this.#askHome().catch(error => {
      this.#home = null;
      throw error;
    });
    return this.#home;
  }

  async #askHome(): Promise<Home> {
    const answer = await this.#call('auth.test', {});
    return { team: textIn(answer, 'team_id'), enterprise: textIn(answer, 'enterprise_id') || null };
  }

  /**
   * Tells something to the one person who pressed a button. The address comes with the press. It is signed by Slack, but
   * is still used only if it leads to Slack, or to where the API is configured to be.
   */
  async whisper(responseUrl: string, text: string): Promise<void> {
    if (!this.#isSlack(responseUrl)) throw new SlackError('the address for the answer is not Slack’s');
    const body = JSON.stringify({ response_type: 'ephemeral', replace_original: false, text });
    const headers = { 'Content-Type': 'application/json; charset=utf-8' };
    await within(this.#timeoutMs, async signal => {
      const response = await this.#fetch.fetch(responseUrl, { method: 'POST', headers, body, signal });
      await response.body?.cancel();
      if (!response.ok) throw new SlackError(`Slack answered ${response.status}`);
    });
  }

  #isSlack(address: string): boolean {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url === null || url.username !== '' || url.password !== '') return false;
    if (url.origin === new URL(this.#url).origin) return true;
    return url.protocol === 'https:' && url.port === '' && /(^|\.)slack(-gov)?\.com$/.test(url.hostname);
  }

  /** Every method takes a form; some take nothing else. */
  #call(method: string, args: Record<string, string>): Promise<SlackReply> {
    const headers = {
      Authorization: `Bearer ${this.#token}`,
      'Content-Type': 'application/x-www-form-urlencoded',
    };
    const body = new URLSearchParams(args).toString();
    return within(this.#timeoutMs, async signal => {
      const to = `${this.#url}/${method}`;
      const response = await this.#fetch.fetch(to, { method: 'POST', headers, body, signal });
      return accepted(response, await readJson(response));
    });
  }
}

/** Where a message is, as `<channel>/<ts>`; null if these are no channel and time as Slack writes them. */
export function placeOf(channel: string, ts: string): string | null {
  return /^[A-Z0-9]{1,30}$/.test(channel) && /^\d{1,20}\.\d{1,20}$/.test(ts) ? `${channel}/${ts}` : null;
}

function asForm({ text, blocks }: SlackMessage): { text: string; blocks: string } {
  return { text, blocks: JSON.stringify(blocks) };
}

const SENTENCES: Record<string, string> = {
  not_in_channel: 'The bot is not in this Slack channel; invite it there',
  channel_not_found: 'Slack knows no such channel, or the bot is not in it',
  is_archived: 'The Slack channel is archived',
  message_not_found: 'The message is no longer in Slack',
  not_authed: 'Slack does not accept TOOLGATE_SLACK_BOT_TOKEN',
  invalid_auth: 'Slack does not accept TOOLGATE_SLACK_BOT_TOKEN',
  token_revoked: 'Slack does not accept TOOLGATE_SLACK_BOT_TOKEN',
  account_inactive: 'Slack does not accept TOOLGATE_SLACK_BOT_TOKEN',
  missing_scope: 'The Slack app lacks a scope; it needs chat:write, users:read and users:read.email',
};

/** Throws Slack's refusal. Its code is shown only if it is one, since any other text could repeat what was sent. */
function accepted({ status, headers }: Response, answer: SlackReply | null): SlackReply {
  if (status === 200 && answer?.['ok'] === true) return answer;
  const said = answer?.['ok'] === false ? textIn(answer, 'error') : '';
  const code = /^[a-z_]{1,40}$/.test(said) ? said : '';
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const wait = seconds >= 0 ? Math.min(seconds, MOST_RETRY_SECONDS) * 1000 : null;
  if (status === 429) throw new SlackError('Slack asks to wait, because of too many requests', code, wait);
  const sentence = SENTENCES[code] ?? `Slack answered ${status}`;
  throw new SlackError(code === '' ? sentence : `${sentence} (${code})`, code);
}

async function readJson(response: Response): Promise<SlackReply | null> {
  const body = await boundedBody(response, ANSWER_BYTES);
  if (body === null) throw new SlackError('Slack’s answer is too large');
  try {
    return asObject(JSON.parse(body.toString('utf8')));
  } catch {
    return null;
  }
}

async function within<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new SlackError(`Slack gave no answer within ${timeoutMs / 1000} s`));
    controller.abort();
  }, timeoutMs);
  try {
    return await Promise.race([work(controller.signal), late.promise]);
  } catch (error) {
    throw error instanceof SlackError ? error : unreachable(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Only the code of a failure is shown: its text may contain addresses. */
function unreachable(error: unknown): SlackError {
  const { code } = error as { code?: unknown };
  const known = typeof code === 'string' && /^\w{1,40}$/.test(code) ? ` (${code})` : '';
  return new SlackError(`Slack could not be reached${known}`);
}

function asObject(value: unknown): SlackReply | null {
  return typeof value === 'object' && value !== null ? (value as SlackReply) : null;
}

function partOf(value: SlackReply, name: string): SlackReply {
  return asObject(value[name]) ?? {};
}

function textIn(value: SlackReply, name: string): string {
  const found = value[name];
  return typeof found === 'string' ? found : '';
}
