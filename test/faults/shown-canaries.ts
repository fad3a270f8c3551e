// Marked arguments for rules that show them to approvers: by path, all of them, in a question, whole where messages give
// only the beginning, and long. People look at them on every page and every replica, messages carry them where their channel may, and the
// questions end in every way. Each look says whether the marker must be there, so that none of them takes an easier path.

import { DETAILS_GONE } from '../../src/core/approvals/details.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import { from } from '../approvals/gate.ts';
import { sql, until } from '../support/faults.ts';
import { Receiver } from '../support/receiver.ts';
import type { TestService } from '../support/service.ts';
import { type Canaries, send } from './canaries.ts';

const NOTIFY = ['quiet', 'loud', 'echoing'];
const show = (tool: string, more: Partial<Rule>): Rule => ({
  tool,
  action: 'require_approval',
  notify: NOTIFY,
  ...more,
});
const RULES: Rule[] = [
  show('all', { show: 'all' }),
  show('some', { show: ['a', 'b.c', 'd[0]', 'not.there'] }),
  show('asked', { ask: 'Do {a} and {b.c} with {d[0]}?' }),
  show('both', { show: ['a', 'b.c', 'd[0]'], ask: 'Do {a}?' }),
];

/** With this rule, approvers are also told which of the shown values somebody has named. */
const KNOWING: Rule = { tool: 'knowing', action: 'allow', when: 'known(args.a)' };

interface Shape {
  args: (marker: string) => unknown;
  /** Of which rules the pages show the marker; null: of all. */
  shown: string | null;
  /** Whether messages show it too, which give the beginning only. */
  told: boolean;
}

const EVERYWHERE = { shown: null, told: true };

const SHAPES: Record<string, Shape> = {
  'a value': { args: marker => ({ a: marker }), ...EVERYWHERE },
  'a nested value': { args: marker => ({ b: { c: [marker] } }), ...EVERYWHERE },
  'a key': { args: marker => ({ a: { [marker]: 1 } }), ...EVERYWHERE },
  'an item': { args: marker => ({ d: [marker] }), ...EVERYWHERE },
  'a value that is cut': {
    args: marker => ({ a: `${'x'.repeat(490)}${marker}${'x'.repeat(90)}` }),
    shown: null,
    told: false,
  },
  'a value behind many': {
    args: marker => ({ ...Object.fromEntries(many(60)), z: `${'x'.repeat(400)}${marker}` }),
    shown: 'all',
    told: false,
  },
  'a long value': {
    args: marker => ({ a: `${'x'.repeat(100_000)}${marker}${'x'.repeat(100_000)}` }),
    shown: null,
    told: false,
  },
};

const many = (count: number): [string, string][] =>
  Array.from({ length: count }, (_, index) => [`field${index}`, 'y'.repeat(400)]);

/** Where messages go: one channel may carry details, one may not, and one answers with what it was sent. */
export class Channels {
  readonly quiet: Receiver;
  readonly loud: Receiver;
  readonly #echoing: Bun.Server<undefined>;

  static async start(): Promise<Channels> {
    return new Channels(await Receiver.start(), await Receiver.start());
  }

  private constructor(quiet: Receiver, loud: Receiver) {
    this.quiet = quiet;
    this.loud = loud;
    this.#echoing = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async request => {
        const text = await request.text();
        return new Response(text, {
          status: 400,
          headers: { 'X-Echo': encodeURIComponent(text).slice(0, 2000) },
        });
      },
    });
  }

  /** As the server file declares them. */
  get declared() {
    return {
      quiet: { type: 'http', url: this.quiet.url },
      loud: { type: 'http', url: this.loud.url, details: true },
      echoing: { type: 'http', url: this.#echoing.url.href, details: true },
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.quiet.close(), this.loud.close(), this.#echoing.stop(true)]);
  }
}

/** A key whose rules show arguments, and a webhook that hears of its approvals. */
export async function shownKey(service: TestService, { quiet }: Channels): Promise<string> {
  await service.admin('POST', '/webhooks', { url: quiet.url });
  return (await service.newKey([...RULES, KNOWING])).key;
}

/** The body of one of the calls. */
export function shownBody(canaries: Canaries, number: number, when: string): string {
  const { tool } = RULES[number % RULES.length] as Rule;
  const shapes = Object.entries(SHAPES);
  const [shape, { args }] = shapes[Math.floor(number / RULES.length) % shapes.length] as [string, Shape];
  const marker = canaries.at(`${shape} that is shown (${tool}), ${when}`);
  return JSON.stringify({ serverName: 'files', toolName: tool, args: args(marker) });
}

/** Sends every shape to every rule. People look on all replicas, and the questions end in turn in every way. */
export async function sendShown(
  replicas: readonly TestService[],
  key: string,
  canaries: Canaries,
  channels: Channels,
): Promise<void> {
  let number = 0;
  for (const { tool } of RULES)
    for (const [name, shape] of Object.entries(SHAPES)) {
      const place = `${name} that is shown (${tool})`;
      const isShown = shape.shown === null || shape.shown === tool;
      await until(`everybody was shown what they may see: ${place}`, async () => {
        let marker = '';
        const body = (given: string) => {
          marker = given;
          return JSON.stringify({ serverName: 'files', toolName: tool, args: shape.args(given) });
        };
        const judge = replicas[0] as TestService;
        const { referenceId } = (await send(judge, key, canaries, { place, body, expected: 200 })).body;
        const seen = await lookedAt(replicas, channels, referenceId);
        if (seen.quiet.includes(marker)) throw new Error(`${place} is in a message that may not show it`);
        // Whoever is late shows less, and nothing that may not be shown.
        const isWrong = (text: string, wanted: boolean) =>
          text.includes(marker) !== wanted && !(seen.late && wanted);
        if (isWrong(seen.loud, shape.told))
          throw new Error(`${place} is ${shape.told ? 'not ' : ''}in a message`);
        for (const text of seen.texts)
          if (isWrong(text, isShown)) throw new Error(`${place} is ${isShown ? 'not ' : ''}shown: ${text}`);
        if (seen.late) return false;
        await end(number++, replicas.at(-1) as TestService, referenceId, seen.link);
        return true;
      });
    }
}

/**
 * What both channels and all replicas make of a question. `late`: the process that holds the details was too busy to give
 * them away within the second in which they are asked for, so somebody was told that there are none. That is no fault,
 * and the question proves nothing.
 */
async function lookedAt(replicas: readonly TestService[], channels: Channels, referenceId: string) {
  const of = ({ arrivals }: Receiver) => arrivals.find(each => each.json?.referenceId === referenceId)?.json;
  await until('both messages', () => of(channels.quiet) !== undefined && of(channels.loud) !== undefined);
  const loud = of(channels.loud);
  let late = loud.details === undefined;
  const link = new URL(of(channels.quiet).reviewUrl).pathname;
  const texts: string[] = [];
  for (const replica of replicas) {
    const approval = await replica.admin('GET', `/approvals/${referenceId}`);
    const page = (await replica.request('GET', link, from({}))).text;
    late ||= approval.body.detailsGone === true || page.includes(DETAILS_GONE);
    texts.push(approval.text, page);
    await replica.admin('GET', '/approvals?status=pending');
  }
  return { quiet: JSON.stringify(of(channels.quiet)), loud: JSON.stringify(loud), texts, link, late };
}

async function end(way: number, service: TestService, referenceId: string, link: string): Promise<void> {
  const answer = (action: string, note: string) => ({ action, note });
  switch (way % 4) {
    case 0:
      await service.request('POST', link, {
        ...from({ headers: { 'Content-Type': 'application/json' } }),
        body: JSON.stringify(answer('deny', 'by link')),
      });
      return;
    case 1: {
      const { details } = (await service.admin('GET', `/approvals/${referenceId}`)).body;
      const path = `/approvals/${referenceId}/resolve`;
      await service.admin('POST', path, { ...answer('approve', 'here'), seen: details.digest });
      return;
    }
    case 2:
      await sql(
        service.databaseUrl,
        `UPDATE approvals SET expires_at = ${Date.now()} WHERE id = '${referenceId}'`,
      );
      return;
    default:
      // It is still open when the service is killed.
      return;
  }
}
