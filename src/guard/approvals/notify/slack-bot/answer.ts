// Answers an approval for the person who pressed a button in Slack. Slack says who that is, by e-mail address; they must
// be an operator who may answer, exactly as on the dashboard. A refusal is told to that person alone.

import type { Resolution } from '../../../../core/approvals/approval.ts';
import { GuardError } from '../../../../core/errors.ts';
import { findChannel } from '../../../../core/policy/channel.ts';
import { normalEmail } from '../../../../core/text/email.ts';
import { findOperator, findOperatorCredential, type ListedOperator } from '../../../../store/operators.ts';
import { postedTo } from '../../../../store/posted-messages.ts';
import type { Deps } from '../../../deps.ts';
import { requireApproval, resolveByOperator } from '../../approvals.ts';
import { type SlackApi, SlackError, type SlackUser } from './api.ts';
import { showsAll } from './message.ts';
import { shownIn } from './posted.ts';

/** A press of a button. Its signature was checked, so all of it is Slack's word. */
export interface Press {
  userId: string;
  action: Resolution;
  referenceId: string;
  /** Where the message with the button is. */
  place: string;
  /** Where to answer the person. */
  responseUrl: string;
  /** Slack has reported this press before. */
  again: boolean;
}

/** Throws only what went wrong on our side, after the person was told so. */
export async function answerPress(
  deps: Deps,
  slack: SlackApi,
  press: Press,
  publicUrl: string,
): Promise<void> {
  try {
    await answer(deps, slack, press);
  } catch (error) {
    // The first report has answered, or was refused; the second has nothing new to tell.
    if (press.again && error instanceof GuardError && error.code === 'conflict') return;
    const page = `${publicUrl}/dashboard/approvals/${press.referenceId}`;
    await slack.whisper(press.responseUrl, sentenceFor(error, page)).catch(() => {});
    if (!(error instanceof GuardError || error instanceof SlackError)) throw error;
  }
}

function sentenceFor(error: unknown, page: string): string {
  if (error instanceof GuardError && error.code === 'not_seen')
    return `This message does not show all that the call would do. Look at it, and answer there: ${page}`;
  if (error instanceof GuardError) return error.message;
  if (error instanceof SlackError)
    return `Your answer was not taken: ${error.message}. Try again, or use the page.`;
  return 'Your answer was not taken, because something went wrong. Try again, or use the page.';
}

async function answer(deps: Deps, slack: SlackApi, press: Press): Promise<void> {
  // With the token of an incoming webhook of the same app, somebody could post a message about something harmless whose
  // button names this approval. So a button counts only on the message that was posted for the approval.
  const posted = await postedTo(deps.db, press.referenceId, press.place);
  if (posted === null)
    throw new GuardError(
      'not_found',
      'This message is not known to ask a question. Try again in a moment, or answer on the page.',
    );
  const operator = await operatorFor(deps, slack, press.userId);
  const who = { ...operator, operatorId: operator.id };
  await resolveByOperator(deps, who, press.referenceId, {
    action: press.action,
    grantMs: null,
    unshown: press.action === 'approve' && !(await hasShownAll(deps, press.referenceId, posted.channelName)),
    via: 'slack',
  });
}

/** Whether the message with the button shows all that the call would do. */
async function hasShownAll(deps: Deps, referenceId: string, channelName: string | null): Promise<boolean> {
  const channel = findChannel(deps.settings.channels, channelName ?? '');
  const approval = await requireApproval(deps, referenceId);
  return showsAll(await shownIn(deps, approval, channel?.details ?? false));
}

/** Slack is asked each time: who has left the company must not be remembered as a colleague. */
async function operatorFor(deps: Deps, slack: SlackApi, userId: string): Promise<ListedOperator> {
  const [home, user] = await Promise.all([slack.home(), slack.user(userId)]);
  const isColleague =
    user.team === home.team || (home.enterprise !== null && user.enterprise === home.enterprise);
  const fault = userFault(user, isColleague);
  if (fault !== null) throw new GuardError('forbidden', fault);
  const known = await findOperatorCredential(deps.db, normalEmail(user.email));
  const operator = known === null ? null : await findOperator(deps.db, known.id);
  if (operator === null)
    throw new GuardError(
      'forbidden',
      'You cannot answer: no operator of Toolgate has the e-mail address of your Slack account. Ask an admin to invite you.',
    );
  // An operator who was reset, or has not joined yet, cannot sign in either.
  if (operator.status !== 'active')
    throw new GuardError('forbidden', 'You cannot answer yet: accept your invitation to Toolgate first.');
  return operator;
}

function userFault({ email, isPerson, isActive }: SlackUser, isColleague: boolean): string | null {
  if (!isPerson || !isActive) return 'Only a person with an active Slack account can answer.';
  if (!isColleague) return 'You cannot answer: you belong to another Slack workspace.';
  if (email === '')
    return 'You cannot answer: Slack does not tell your e-mail address, so nobody knows who you are. The app needs the scope users:read.email.';
  return null;
}
