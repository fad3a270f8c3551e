// The receiving end of approvals: a fetch handler that believes only genuine deliveries, and a promise per
// held call. An outcome that arrives before anybody waits is kept, up to a bound; one that comes twice is
// the same outcome.

import { BodyTooLarge, readBytes } from './body.ts';
import { within } from './deadline.ts';
import { InvalidConfiguration, WebhookRejected } from './errors.ts';
import type { ApprovalOutcome, WebhookEvent } from './event.ts';
import { secretsOf } from './secret.ts';
import { verifyWebhook, type WebhookHeaders } from './webhook.ts';

export interface ListenerOptions {
  /** The webhook's secret; several while it is being changed. */
  secret: string | readonly string[];
  /** How many outcomes are kept; the oldest goes first. 10,000 when left out. */
  remember?: number;
}

export interface WaitOptions {
  /** How long to wait for a person; 65 minutes when left out, a little more than an approval lives. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

const REMEMBER = 10_000;
const BODY_LIMIT = 1024 * 1024;
/** The service's default for an approval is 60 minutes, after which it says `timed_out`. */
const WAIT_MS = 65 * 60_000;

type Waiter = (outcome: ApprovalOutcome) => void;

export class ApprovalListener {
  readonly #secret: string | readonly string[];
  readonly #remember: number;
  readonly #outcomes = new Map<string, ApprovalOutcome>();
  readonly #waiters = new Map<string, Set<Waiter>>();

  constructor({ secret, remember = REMEMBER }: ListenerOptions) {
    secretsOf(secret);
    if (!Number.isInteger(remember) || remember < 1)
      throw new InvalidConfiguration('remember must be a whole number of at least 1.');
    this.#secret = secret;
    this.#remember = remember;
  }

  /** Serves the webhook's address; for `Bun.serve`, `Deno.serve` and every framework that speaks fetch. */
  readonly handle = async (request: Request): Promise<Response> => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { Allow: 'POST' } });
    try {
      await this.receive(request.headers, await readBytes(request, BODY_LIMIT));
    } catch (error) {
      return new Response(null, { status: statusOf(error) });
    }
    return new Response(null, { status: 204 });
  };

  /** The same for other servers: give headers and raw body, answer 2xx unless it throws. */
  async receive(headers: WebhookHeaders, body: string | Uint8Array | ArrayBuffer): Promise<WebhookEvent> {
    const event = await verifyWebhook(headers, body, this.#secret);
    if (event.type === 'approval.resolved') this.#settle(event.data);
    return event;
  }

  /** How the approval ended, once it has. */
  outcome(referenceId: string, { timeoutMs = WAIT_MS, signal }: WaitOptions = {}): Promise<ApprovalOutcome> {
    const known = this.#outcomes.get(referenceId);
    if (known !== undefined) return Promise.resolve(known);
    return within({ timeoutMs, signal }, ended => this.#wait(referenceId, ended));
  }

  #wait(referenceId: string, ended: AbortSignal): Promise<ApprovalOutcome> {
    return new Promise(resolve => {
      const waiters = this.#waiters.get(referenceId) ?? new Set();
      this.#waiters.set(referenceId, waiters.add(resolve));
      ended.addEventListener('abort', () => {
        waiters.delete(resolve);
        if (waiters.size === 0 && this.#waiters.get(referenceId) === waiters)
          this.#waiters.delete(referenceId);
      });
    });
  }

  #settle(outcome: ApprovalOutcome): void {
    const { referenceId } = outcome;
    if (this.#outcomes.has(referenceId)) return;
    this.#outcomes.set(referenceId, outcome);
    for (const oldest of this.#outcomes.keys()) {
      if (this.#outcomes.size <= this.#remember) break;
      this.#outcomes.delete(oldest);
    }
    for (const resolve of this.#waiters.get(referenceId) ?? []) resolve(outcome);
    this.#waiters.delete(referenceId);
  }
}

/** What cannot become right by sending it again is still no 410: that would switch the webhook off. */
function statusOf(error: unknown): number {
  if (error instanceof BodyTooLarge) return 413;
  if (!(error instanceof WebhookRejected)) return 500;
  // A later service may tell of more than this client knows; it is to be left in peace.
  if (error.code === 'webhook_unknown_event') return 204;
  return error.code === 'webhook_body' ? 400 : 401;
}
