// The options of our scripts. With --help a script prints its usage. A wrong option is refused in a sentence, with the
// usage behind it, before anything begins.

import { type ParseArgsConfig, parseArgs } from 'node:util';

const HELP = { help: { type: 'boolean', default: false } } as const;

/** The options of this run, and the words between them if the script takes any. */
export function readOptions<O extends NonNullable<ParseArgsConfig['options']>>(
  usage: string,
  options: O,
  allowPositionals = false,
) {
  try {
    const { values, positionals } = parseArgs({ options: { ...options, ...HELP }, allowPositionals });
    if (!('help' in values && values.help)) return { values, words: positionals as readonly string[] };
    console.log(usage);
    process.exit(0);
  } catch (error) {
    return refuse(usage, (error as Error).message);
  }
}

/** A number above 0, or the refusal of another text. */
export function positive(usage: string, option: string, text: string): number {
  const number = Number(text);
  return number > 0 && Number.isFinite(number)
    ? number
    : refuse(usage, `${option} is a number above 0, not "${text}".`);
}

function refuse(usage: string, why: string): never {
  console.error(`${why}\n\n${usage}`);
  process.exit(2);
}
