// Finds words that mix scripts whose letters look alike: `аdmin` with a Cyrillic а reads as if it were Latin. visible.ts
// writes out the letters that do not belong to the rest of their word. A word of one script is left as it is, unless all of
// its letters look Latin and it stands in an address or a name with Latin ones: `аррӏе.com`.

/** Each of them has letters that can be taken for letters of another. Japanese, Chinese and Korean mix theirs with Latin. */
const SCRIPTS = [
  'Latin',
  'Cyrillic',
  'Greek',
  'Armenian',
  'Cherokee',
  'Coptic',
  'Georgian',
  'Hebrew',
  'Lisu',
  'Deseret',
  'Osage',
  'Gothic',
] as const;

const TESTS = SCRIPTS.map(script => new RegExp(`^\\p{Script=${script}}$`, 'u'));
/** An invisible character does not end a word, because a reader does not see that it does. */
const WORD = /[\p{L}\p{M}\p{N}\p{Cf}]+/gu;
/** Words that belong together: an address, a path or an identifier. */
const NAME = /[\p{L}\p{M}\p{N}\p{Cf}._@/:-]{2,}/gu;
const PLAIN = /^[\p{ASCII}]*$/u;
const LATIN = /\p{Script=Latin}/u;
/** A word of Cyrillic or Greek letters that each look like a Latin one. */
const LOOKS_LATIN = /^[аеорсухѕіјһԁԛԝӏүѵАВЕЅІЈКМНОРСТУХҮӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧοϲϳ\p{N}\p{M}\p{Cf}]+$/u;
/** Greek letters that are signs in Latin words, as in μs and kΩ, and look like no letter of them. */
const SIGN = /[μΩΔπλ]/u;

/** The text, with `write` in place of letters that are not of the script that most of their word has. */
export function withoutMixedScripts(text: string, write: (letter: string) => string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(NAME, name => {
    if (PLAIN.test(name)) return name;
    const isLatin = LATIN.test(name);
    return name.replace(WORD, word => withoutOthers(word, isLatin && LOOKS_LATIN.test(word), write));
  });
}

function withoutOthers(word: string, asLatin: boolean, write: (letter: string) => string): string {
  if (PLAIN.test(word)) return word;
  const letters = Array.from(word, letter => ({
    letter,
    script: SIGN.test(letter) ? -1 : TESTS.findIndex(test => test.test(letter)),
  }));
  const main = asLatin ? SCRIPTS.indexOf('Latin') : mainScript(letters.map(each => each.script));
  return letters
    .map(({ letter, script }) => (script < 0 || script === main ? letter : write(letter)))
    .join('');
}

/** The first of them where two have as many letters, which is Latin if it is one of them. */
function mainScript(scripts: readonly number[]): number {
  const counts = SCRIPTS.map((_, script) => scripts.filter(each => each === script).length);
  return counts.indexOf(Math.max(...counts));
}
