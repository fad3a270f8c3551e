// Microsoft Teams: an Adaptive Card with link buttons, posted to the address of a workflow. All texts are runs, in
// which Teams reads no Markdown (it does in a TextBlock and in a Fact).

import { maskedUrl } from '../text/masked.ts';
import { isSuccess, type PostedType } from './channel-type.ts';
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

/** Teams refuses a message of more than 28 KB, by its documentation; others saw refusals from 21 KB on. */
const MAX_BYTES = 20_000;
const NAME_CHARS = 400;
const FACT_CHARS = 300;

export const teams: PostedType<{ url: string }> = {
  fields: ['url'],
  read: ({ url }) => ({ url: url('url', 'the address of the workflow') }),
  target: ({ url }) => maskedUrl(url),
  examined: ({ url }) => ({ connect: url, field: 'url' }),
  post: ({ url }, message) => ({ url, body: JSON.stringify(teamsMessage(message)), fault }),
};

function fault(status: number, response: string): string | null {
  if (!isSuccess(status)) return `Teams answered ${status}`;
  // Addresses of the older kind answer 200 and name the refusal in the text.
  const refused = /returned HTTP error (\d{3})\b/.exec(response)?.[1];
  return refused === undefined ? null : `Teams answered ${refused}`;
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
