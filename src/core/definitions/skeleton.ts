// The skeleton of a name by UTS 39: two names with the same one look alike. It is for comparing only, since it is no name
// that anybody would read. Letters of different case have different skeletons.

import { CONFUSABLES } from './confusables.ts';

const IGNORED = /\p{Default_Ignorable_Code_Point}/gu;
let prototypes: ReadonlyMap<string, string> | undefined;

export function skeletonOf(name: string): string {
  prototypes ??= readPrototypes();
  let skeleton = '';
  for (const character of name.normalize('NFD').replace(IGNORED, ''))
    skeleton += prototypes.get(character) ?? character;
  return skeleton.normalize('NFD');
}

/** For each character that looks like others, those that stand for it. It takes some 10 ms, once. */
function readPrototypes(): Map<string, string> {
  const read = new Map<string, string>();
  for (const entry of CONFUSABLES.split(';')) {
    const [prototype = '', ...differences] = entry.trim().split(' ');
    const points = prototype.split('.').map(number => Number.parseInt(number, 36));
    let source = 0;
    for (const difference of differences) {
      source += Number.parseInt(difference, 36);
      read.set(String.fromCodePoint(source), String.fromCodePoint(...points));
    }
  }
  return read;
}
