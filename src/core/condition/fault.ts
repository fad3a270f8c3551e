// Why a condition is refused when its policy is saved. The message quotes nothing but the condition itself.

import { didYouMean } from '../text/did-you-mean.ts';

export class ConditionFault extends Error {
  /** Where the fault is, in UTF-16 units from the start of the condition. */
  readonly offset: number;
  /** How many instructions of patterns were compiled in vain. */
  readonly compiled: number;

  constructor(message: string, offset: number, compiled = 0) {
    super(message);
    this.name = 'ConditionFault';
    this.offset = offset;
    this.compiled = compiled;
  }
}

export function unknownVariable(
  name: string,
  declared: readonly string[],
  locals: readonly string[],
): string {
  const meant = didYouMean(name, [...declared, ...locals, 'true', 'false', 'null']);
  const argument = declared.includes('args') ? ` For an argument, write args.${name}.` : '';
  return `unknown variable "${name}"; known: ${declared.join(', ')}.${meant || argument}`;
}

/** Functions of other languages, and what they are called here. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['len', 'size'],
  ['length', 'size'],
  ['lower', 'lowerAscii'],
  ['toLowerCase', 'lowerAscii'],
  ['upper', 'upperAscii'],
  ['toUpperCase', 'upperAscii'],
  ['includes', 'contains'],
  ['every', 'all'],
  ['some', 'exists'],
]);

/** Without a similar name, those of the same group are named, such as `url.host` for `url.domain`. */
export function unknownFunction(name: string, known: readonly string[]): string {
  const other = OTHER_NAMES.get(name);
  const meant = other === undefined ? didYouMean(name, known) : ` Did you mean "${other}"?`;
  const group = known.filter(each => name.includes('.') && each.startsWith(name.replace(/\..*/, '.')));
  const listed = meant === '' && group.length > 0 ? `; known: ${group.join(', ')}` : '';
  return `unknown function "${name}"${listed}.${meant}`;
}
