// Follows a link that asks something of the editor (asked.ts). What it asks for becomes an unsaved text, and the address
// loses the question, so that loading the page again does not ask twice.

import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { visible } from '../../../../src/core/text/visible.ts';
import { post } from '../../api.ts';
import { isSpan, type Span, since } from '../../components/span-choice.tsx';
import type { WholePolicy } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { type Asked, askedIn } from './asked.ts';
import type { Unsaved } from './use-unsaved.ts';
import { withRule } from './with-rule.ts';

/** Unless the link says otherwise, a suggestion is made from this much of the past. It is replayed over the same. */
const SUGGESTED_SPAN: Span = '30 days';

export function useAsked(policy: WholePolicy, unsaved: Unsaved, setSpan: (span: Span) => void): void {
  const { query, path, route } = useLocation();
  const fail = (error: Error) => unsaved.say({ kind: 'failed', error });
  useEffect(() => {
    const asked = askedIn(query);
    if (asked === null) return;
    route(path, true);
    if (!mayAdminister.value) fail(new Error('Only admins can change policies.'));
    else follow(asked);
  }, [query]);

  function follow(asked: Asked): void {
    switch (asked.kind) {
      case 'wrong':
        fail(new Error(asked.why));
        break;
      case 'rule':
        addRule(asked);
        break;
      case 'suggestion':
        suggest(asked.keyId, isSpan(asked.last) ? asked.last : SUGGESTED_SPAN).catch(fail);
        break;
    }
  }

  function addRule(asked: Extract<Asked, { kind: 'rule' }>): void {
    const text = unsaved.typed();
    const changed = withRule(text, text === policy.text ? policy.version : null, asked);
    if (changed === null) {
      const rule = `The rule (${asked.action} for ${visible(asked.tool)})`;
      fail(new Error(`${rule} could not be added to this text. Mend its errors, or write it by hand.`));
      return;
    }
    const { said, added, isNew } = changed;
    unsaved.show(changed.text, { origin: { kind: 'rule', said, isNew }, added });
  }

  async function suggest(keyId: string, span: Span): Promise<void> {
    unsaved.say({ kind: 'suggesting', keyId });
    const { text } = await post<{ text: string }>(`/keys/${keyId}/suggest`, { from: since(span) });
    setSpan(span);
    unsaved.replaceWith(text, { kind: 'suggested', keyId, span });
  }
}
