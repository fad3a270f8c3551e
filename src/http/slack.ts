// POST /v1/slack/interactions: Slack reports here that somebody pressed a button. Only Slack's signature makes a request
// valid; it is computed over the bytes of the body, so the route reads the body itself. Slack waits three seconds for
// the answer, and whatever the person has to know is told through another address, which is in the report.

import { z } from 'zod';
import { GuardError } from '../core/errors.ts';
import { answerPress, type Press } from '../guard/approvals/notify/slack-bot/answer.ts';
import { placeOf } from '../guard/approvals/notify/slack-bot/api.ts';
import { BUTTONS } from '../guard/approvals/notify/slack-bot/message.ts';
import { isRecent, isSigned } from '../guard/signed-requests.ts';
import { type Bounds, readBytes } from './serving/body.ts';
import { baseUrl } from './serving/origin.ts';
import { type Incoming, type Route, route } from './serving/route.ts';

/** A report repeats the message with the button, and its encoding makes up to nine bytes of a character. */
const BODY_BYTES = 128 * 1024;
/** Slack shows an error after 3 s. What takes longer, such as asking Slack who it was, goes on behind the answer. */
const ACKNOWLEDGE_MS = 2000;

export const slackRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/slack/interactions',
    access: 'public',
    tag: 'approvals',
    summary: 'Take the answer of somebody who pressed a button in Slack',
    description:
      'The request URL for interactivity of the Slack app. The body is a form with the field `payload`, signed by Slack ' +
      '(`X-Slack-Signature`, `X-Slack-Request-Timestamp`). Refusals are told to the person in Slack.',
    answers: {
      200: { description: 'Received. An answer that was reported before is not given twice.' },
      401: { description: 'The signature is missing or wrong, or the request is more than 5 minutes old.' },
      404: { description: 'No Slack app is configured.' },
      413: { description: 'The body is larger than 128 KiB.' },
    },
    handle: interact,
  }),
];

async function interact({ services, request, ration }: Incoming<unknown, unknown>): Promise<Response> {
  const { deps, slack, config, log } = services;
  const { slackSigningSecret } = config;
  if (slack === null || slackSigningSecret === null)
    throw new GuardError('not_found', 'No Slack app is configured here.');
  const body = await readSigned(request, { limit: BODY_BYTES, ration }, slackSigningSecret, deps.now());
  const press = pressIn(body, request.headers.has('x-slack-retry-num'));
  if (press !== null) {
    const answered = answerPress(deps, slack, press, baseUrl(config, request)).catch(error =>
      log.error({ err: error }, 'an answer from Slack could not be taken'),
    );
    await Promise.race([answered, Bun.sleep(ACKNOWLEDGE_MS)]);
  }
  return new Response(null, { status: 200 });
}

async function readSigned(
  request: Request,
  bounds: Bounds,
  secret: string,
  now: number,
): Promise<Uint8Array> {
  const timestamp = request.headers.get('x-slack-request-timestamp') ?? '';
  const signature = request.headers.get('x-slack-signature') ?? '';
  if (!isRecent(timestamp, now)) throw unsigned();
  const body = await readBytes(request, bounds);
  if (!isSigned(secret, [`v0:${timestamp}:`, body], 'v0=', signature)) throw unsigned();
  return body;
}

function unsigned(): GuardError {
  return new GuardError('unauthenticated', 'This request is not signed by Slack, or it is too old.');
}

const report = z.looseObject({
  type: z.literal('block_actions'),
  user: z.looseObject({ id: z.string().regex(/^[A-Z0-9]{1,30}$/) }),
  container: z.looseObject({ channel_id: z.string(), message_ts: z.string() }),
  actions: z.tuple([
    z.looseObject({
      action_id: z.enum(Object.keys(BUTTONS) as (keyof typeof BUTTONS)[]),
      value: z.uuid(),
    }),
  ]),
  response_url: z.string().max(2048),
});

/** Null for everything else that Slack may report, such as that somebody opened the link to the page. */
function pressIn(body: Uint8Array, again: boolean): Press | null {
  const payload = new URLSearchParams(new TextDecoder().decode(body)).get('payload') ?? '';
  const { success, data } = report.safeParse(jsonIn(payload));
  if (!success) return null;
  const [{ action_id, value }] = data.actions;
  const place = placeOf(data.container.channel_id, data.container.message_ts);
  if (place === null) return null;
  return {
    userId: data.user.id,
    action: BUTTONS[action_id],
    referenceId: value,
    place,
    responseUrl: data.response_url,
    again,
  };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
