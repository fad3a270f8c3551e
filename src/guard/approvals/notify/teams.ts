// Sends a notification to Microsoft Teams: an Adaptive Card with link buttons, posted to the address of a workflow. All
// texts are runs, in which Teams reads no Markdown (it does in a TextBlock and in a Fact).

import type { TargetRules } from '../../outgoing/addresses.ts';
import { sendJson } from '../../outgoing/send.ts';
import {
  advice,
  clipped,
  facts,
  forPerson,
  fullName,
  linksOf,
  type NotificationMessage,
  needs,
  REVIEW_ALL,
  shownLines,
} from './message.ts';

const TIMEOUT_MS = 15_000;
/** Teams refuses a message of more than 28 KB, by its documentation; others saw refusals from 21 KB on. */
const MAX_BYTES = 20_000;
const NAME_CHARS = 400;
const FACT_CHARS = 300;

export async function sendTeams(
  url: string,
  message: NotificationMessage,
  rules: TargetRules,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const body = JSON.stringify(teamsMessage(message));
  const { status, response } = await sendJson({ url, headers: {}, body, timeoutMs, rules });
  if (status < 200 || status > 299) throw new Error(`Teams answered ${status}`);
  // Addresses of the older kind answer 200 and name the refusal in the text.
  const refused = /returned HTTP error (\d{3})\b/.exec(response)?.[1];
  if (refused !== undefined) throw new Error(`Teams answered ${refused}`);
}

function teamsMessage(message: NotificationMessage) {
  const { details } = message;
  if (details === null)
    return envelope(
      message,
      shownLines(message).map(text => line(text)),
    );
  const lines = shownLines(message).map(text => line(text));
  let room = MAX_BYTES - bytes(envelope({ ...message, reviewFirst: true }, [leftOut(lines.length)]));
  const fitting = lines.findIndex(each => {
    room -= bytes(each) + 1;
    return room < 0;
  });
  if (fitting === -1) return envelope(message, lines);
  // A message that does not show everything leads to where it can be seen.
  const shown = [...lines.slice(0, fitting), leftOut(lines.length - fitting)];
  return envelope({ ...message, reviewFirst: true }, shown);
}

const leftOut = (count: number) => line(`… and ${count} more. ${REVIEW_ALL}`);

function envelope(message: NotificationMessage, shown: object[]) {
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    // A program that knows no cards of this version shows this text, and reads Markdown in it.
    fallbackText: 'An agent asks for an approval. Open the dashboard of Toolgate to answer.',
    body: [
      line('An agent asks to call'),
      line(clipped(fullName(message), NAME_CHARS), { weight: 'Bolder', size: 'Medium' }),
      ...forPerson(message).map(text => line(clipped(text, FACT_CHARS))),
      ...shown,
      ...[...facts(message), ...needs(message)].map(({ label, value }) =>
        richText([run(`${label}: `, { isSubtle: true }), run(clipped(value, FACT_CHARS))]),
      ),
      line(advice(message), { isSubtle: true, size: 'Small' }),
    ],
    actions: linksOf(message).map(({ what, label, url }, index) => ({
      type: 'Action.OpenUrl',
      title: label,
      url,
      style: index === 0 ? 'positive' : what === 'deny' ? 'destructive' : 'default',
    })),
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return { type: 'message', attachments: [{ contentType, contentUrl: null, content }] };
}

interface Look {
  weight?: 'Bolder';
  size?: 'Small' | 'Medium';
  isSubtle?: true;
}

function line(text: string, look: Look = {}) {
  return richText([run(text, look)]);
}

function richText(inlines: object[]) {
  return { type: 'RichTextBlock', inlines };
}

function run(text: string, look: Look = {}) {
  return { type: 'TextRun', text, ...look };
}

function bytes(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}
