export { ChangeFeed, type ChangeObserver } from './change-feed.js';
export {
  Announcement,
  Notifier,
  notifierFamilies,
  type NotifiedZone,
  NotifyMessages,
  NotifyTarget,
} from './notify-sender.js';
export {
  type PublishedZones,
  Publisher,
  type SubscriberCounts,
  subscriberFacts,
  subscriberFamilies,
  subscriberLimit,
  subscriberProblems,
  type SubscriberRow,
  type SubscriberRules,
  subscribersPage,
} from './publisher.js';
export { PublisherProcess } from './publisher-process.js';
export { Relay } from './relay.js';
export {
  type ChangeListener,
  type ChangeSink,
  type SubscribedCache,
  type SubscribedServer,
  subscriptionFamilies,
  type SubscriptionRow,
  Subscriptions,
  subscriptionsPage,
  zoneProblems,
  zoneRows,
  ZoneServer,
} from './subscriber.js';
export {
  type FlushCause,
  type SubscriptionEvents,
  type SubscriptionStatus,
  ZoneSubscription,
} from './subscription.js';
export { NOT_KNOWN } from './version-log.js';
export {
  AnnouncedChanges,
  type ChangeSource,
  type LastSeen,
  MAX_SUBSCRIPTIONS,
  neverSeen,
  overlaps,
  UNVERSIONED,
  VersionedAnswerer,
  versionLabels,
  WITH_TTL,
} from './version.js';
