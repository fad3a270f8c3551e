// The trust in a server: whether somebody has to look at its tools before their calls are decided by policies alone.

import type { Trust } from '../../resources.ts';

const WORDS: Record<Trust, string> = {
  reviewed: 'Somebody looks first',
  first: 'The first definition is accepted',
};

const MEANING: Record<Trust, string> = {
  reviewed: 'Calls of a tool wait, or are denied, until somebody has accepted its present definition.',
  first: 'Tools can be called as soon as they are known. Only later changes are noticed.',
};

export function TrustField({ value = 'reviewed' }: { value?: Trust }) {
  return (
    <fieldset class="choices">
      <legend>Trust</legend>
      {(['reviewed', 'first'] as const).map(each => (
        <label key={each} class="check">
          <input type="radio" name="trust" value={each} defaultChecked={each === value} />
          <span>
            {WORDS[each]}
            <span class="hint lines">{MEANING[each]}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

export const trustIn = (form: FormData): Trust => (form.get('trust') === 'first' ? 'first' : 'reviewed');

export function TrustShown({ of: trust }: { of: Trust }) {
  return (
    <span class="lines">
      {WORDS[trust]}
      <span class="hint">{MEANING[trust]}</span>
    </span>
  );
}

export const trustWord = (trust: Trust): string => WORDS[trust];
