// A page of the documentation as steps, in order. What is done with a block is told by its language and by the
// comment above it, which readers do not see:
//
//   sh, ts, js, python   run in the reader's shell; must succeed
//   shell                the terminal of the service: starts it anew, with these settings
//   console              commands after `$ `, and what each prints
//   <!-- file: name -->  saved under that name
//   <!-- from: path -->  a part of that file, which may be indented more
//   <!-- prints -->      what the step before printed
//   <!-- not run: why -->
//   <!-- run: … -->      a command that the reader does by hand
//   <!-- says: … -->     stands in what the step before printed
//   <!-- shows: … -->    appears, in a while, in one of the terminals
//   <!-- after: path --> that page is followed first

export type Step = { line: number } & (
  | { kind: 'run'; language: string; text: string }
  | { kind: 'serve'; text: string }
  | { kind: 'console'; text: string }
  | { kind: 'file' | 'from'; name: string; text: string }
  | { kind: 'prints'; language: string; text: string }
  | { kind: 'shows' | 'says'; text: string }
  | { kind: 'nobody'; text: string }
);

const PART = /^<!-- (.+?) -->$|^```(\w*)\n(.*?)^```$/gms;
const RUN = ['sh', 'ts', 'js', 'python'];

export interface Page {
  steps: Step[];
  /** The reasons of the blocks that are not run. */
  notRun: string[];
  /** The page to follow first, relative to this one. */
  after: string | null;
}

export function parsePage(text: string): Page {
  const steps: Step[] = [];
  const notRun: string[] = [];
  let told: string | null = null;
  let after: string | null = null;
  for (const found of text.matchAll(PART)) {
    const line = text.slice(0, found.index).split('\n').length;
    const [, comment, language = '', block = ''] = found;
    // A script writes what stands between two such comments.
    if (/^\/|: written by npm run /.test(comment ?? '')) continue;
    if (comment !== undefined) {
      const hidden = hiddenStep(line, comment);
      if (comment.startsWith('after: ')) after = comment.slice('after: '.length);
      else if (hidden === null) told = comment;
      else steps.push(hidden);
      continue;
    }
    if (told?.startsWith('not run: ') === true) notRun.push(told.slice('not run: '.length));
    else steps.push(blockStep(line, language, block, told));
    told = null;
  }
  return { steps, notRun, after };
}

function hiddenStep(line: number, comment: string): Step | null {
  const [, word, rest = ''] = /^(run|shows|says): (.*)$/s.exec(comment) ?? [];
  if (word === 'run') return { line, kind: 'run', language: 'sh', text: rest };
  return word === 'shows' || word === 'says' ? { line, kind: word, text: rest } : null;
}

function blockStep(line: number, language: string, text: string, told: string | null): Step {
  if (told?.startsWith('file: ') === true)
    return { line, kind: 'file', name: told.slice('file: '.length), text };
  if (told?.startsWith('from: ') === true)
    return { line, kind: 'from', name: told.slice('from: '.length), text };
  if (told === 'prints') return { line, kind: 'prints', language, text };
  if (told !== null) return { line, kind: 'nobody', text: told };
  if (RUN.includes(language)) return { line, kind: 'run', language, text };
  if (language === 'shell') return { line, kind: 'serve', text };
  if (language === 'console') return { line, kind: 'console', text };
  return { line, kind: 'nobody', text: language || 'a block without a language' };
}

/** The commands of a console block, each with what it printed. */
export function consoleSteps(text: string): { command: string; printed: string }[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map(part => {
      const lines = part.split('\n');
      let end = 1;
      while (lines[end - 1]?.endsWith('\\') === true) end++;
      return { command: lines.slice(0, end).join('\n'), printed: lines.slice(end).join('\n').trimEnd() };
    });
}
