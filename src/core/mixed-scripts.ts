// Finds words that mix scripts whose letters look alike: `аdmin` with a Cyrillic а reads as if it were Latin. visible.ts
// writes out the letters that do not belong to the rest of their word. A word of one script is left as it is.

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
const WORD = /[\p{L}\p{M}\p{N}\p{Cf}]{2,}/gu;
const PLAIN = /^[\p{ASCII}]*$/u;

/** The text, with `write` in place of letters that are not of the script that most of their word has. */
export function withoutMixedScripts(text: string, write: (letter: string) => string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(WORD, word => {
    if (PLAIN.test(word)) return word;
    const letters = Array.from(word, letter => ({
      letter,
      script: TESTS.findIndex(test => test.test(letter)),
    }));
    const main = mainScript(letters.map(each => each.script));
    return letters
      .map(({ letter, script }) => (script < 0 || script === main ? letter : write(letter)))
      .join('');
  });
}

/** The first of them where two have as many letters, which is Latin if it is one of them. */
function mainScript(scripts: readonly number[]): number {
  const counts = SCRIPTS.map((_, script) => scripts.filter(each => each === script).length);
  return counts.indexOf(Math.max(...counts));
}
