// What every type of channel says about itself: how it is declared in the server file, where it leads, and what it sends.
// Each type is a file beside this one, and channels.ts lists them.

import type { NotificationMessage } from './message.ts';

/** The fields with which a channel was declared. What is wrong with them is thrown, and quotes no secret. */
export interface DeclaredFields {
  given: Readonly<Record<string, unknown>>;
  /** Makes the error for a fault; `what` follows the name of the channel. */
  wrong: (what: string) => Error;
  /** `what` says what the field is for, if it is missing. */
  url: (name: string, what: string) => string;
  text: (name: string, form: RegExp, what: string) => string;
  headers: () => { headers?: Readonly<Record<string, string>> };
}

/** The settings of the service that types of channels may need. */
export interface ServiceSettings {
  smtpUrl: string | null;
  slackBotToken: string | null;
  slackWebhookUrl: string | null;
}

/** How `toolgate doctor` examines a channel without posting anything: it connects, or reads the address. */
export type Examined = { connect: string; field: string } | { fault: string | null; fine: string };

export interface ChannelType<Settings> {
  /** The fields besides `type` and `details`. */
  fields: readonly string[];
  read: (declared: DeclaredFields) => Settings;
  /** Where it leads, so that people recognise it: neither addresses nor secrets. */
  target: (settings: Settings) => string | null;
  /** What the settings of the service lack for it; the sentence follows its name. */
  lacks?: (settings: Settings, service: ServiceSettings) => string | null;
  /** Missing, or null, where another check of the doctor covers it. */
  examined?: (settings: Settings) => Examined | null;
}

/** A type whose messages are a request each. Others are sent by guard/approvals/notify/send.ts in their own ways. */
export interface PostedType<Settings> extends ChannelType<Settings> {
  post: (settings: Settings, message: NotificationMessage) => Post;
}

/** A request with a message, as JSON. */
export interface Post {
  url: string;
  headers?: Readonly<Record<string, string>>;
  body: string;
  /** Why an answer does not mean that the message was taken, or null. It may not quote what could repeat the links. */
  fault: (status: number, response: string) => string | null;
}

export const isSuccess = (status: number): boolean => status >= 200 && status <= 299;
