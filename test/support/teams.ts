// A receiver that takes only what Microsoft documents for workflows in Teams: a message with one Adaptive Card of
// version 1.4 (schema of adaptivecards.io), of elements that Teams shows, within 28 KB.

const MAX_BYTES = 28 * 1024;
const MAX_ACTIONS = 6;

export interface Run {
  text: string;
  weight?: string;
}

export interface OpenUrl {
  title: string;
  url: string;
  style: string;
}

export interface Card {
  /** All texts in which Markdown is not read, one for each line. */
  lines: string[];
  actions: OpenUrl[];
  fallbackText: string;
}

type Fields = Record<string, unknown>;
type Check = (value: unknown, path: string) => void;

function fail(path: string, what: string): never {
  throw new Error(`${path} ${what}`);
}

const text: Check = (value, path) => {
  if (typeof value !== 'string' || value === '') fail(path, 'is no text');
};
const truth: Check = (value, path) => {
  if (typeof value !== 'boolean') fail(path, 'is neither true nor false');
};
const exactly =
  (wanted: unknown): Check =>
  (value, path) => {
    if (value !== wanted) fail(path, `is not ${JSON.stringify(wanted)}`);
  };
/** The schema takes names of styles in any case. */
const oneOf =
  (...words: string[]): Check =>
  (value, path) => {
    text(value, path);
    if (!words.includes((value as string).toLowerCase())) fail(path, `is none of ${words.join(', ')}`);
  };
const link: Check = (value, path) => {
  text(value, path);
  if (!/^https?:\/\//.test(value as string) || !URL.canParse(value as string)) fail(path, 'is no address');
};
const list =
  (item: Check, max: number): Check =>
  (value, path) => {
    if (!Array.isArray(value) || value.length === 0 || value.length > max)
      fail(path, `is no list of 1 to ${max}`);
    for (const [index, each] of value.entries()) item(each, `${path}[${index}]`);
  };
const object =
  (required: Record<string, Check>, optional: Record<string, Check> = {}): Check =>
  (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) fail(path, 'is no object');
    const fields = value as Fields;
    for (const name of Object.keys(required)) if (!(name in fields)) fail(path, `lacks ${name}`);
    for (const [name, part] of Object.entries(fields)) {
      const check = required[name] ?? optional[name];
      if (check === undefined) fail(path, `has ${name}, which the schema does not know`);
      check(part, `${path}.${name}`);
    }
  };

const COLOURS = ['default', 'dark', 'light', 'accent', 'good', 'warning', 'attention'];
const textRun = object(
  { type: exactly('TextRun'), text },
  {
    weight: oneOf('default', 'lighter', 'bolder'),
    size: oneOf('default', 'small', 'medium', 'large', 'extralarge'),
    color: oneOf(...COLOURS),
    isSubtle: truth,
  },
);
const richTextBlock = object({ type: exactly('RichTextBlock'), inlines: list(textRun, 100) });
const openUrl = object(
  { type: exactly('Action.OpenUrl'), title: text, url: link },
  { style: oneOf('default', 'positive', 'destructive') },
);
const card = object(
  {
    type: exactly('AdaptiveCard'),
    version: exactly('1.4'),
    body: list(richTextBlock, 1000),
    actions: list(openUrl, MAX_ACTIONS),
  },
  { $schema: link, fallbackText: text },
);
const attachment = object({
  contentType: exactly('application/vnd.microsoft.card.adaptive'),
  contentUrl: exactly(null),
  content: card,
});
const message = object({ type: exactly('message'), attachments: list(attachment, 1) });

/** Throws what Teams would not take. */
export function readCard(body: string): Card {
  const size = Buffer.byteLength(body);
  if (size > MAX_BYTES) fail('the message', `has ${size} bytes`);
  const read = JSON.parse(body);
  message(read, 'message');
  const { content } = read.attachments[0];
  const lines = content.body.map(({ inlines }: { inlines: Run[] }) =>
    inlines.map(each => each.text).join(''),
  );
  return { lines, actions: content.actions, fallbackText: content.fallbackText };
}
