export {
  containerOf,
  containersOf,
  findObject,
  KUSTOMIZATIONS,
  MANIFESTS,
  NODE_KUSTOMIZATIONS,
  objectsOf,
  readObjects,
  render,
  renderText,
  STOCK_FILE,
  STOCK_OBJECTS,
} from './cluster-manifests.js';
export { fieldFaults } from './manifest-fields.js';
export type {
  Container,
  Deployment,
  HttpProbe,
  KubeManifest,
  ManifestKinds,
  PolicyRule,
} from './manifest-kinds.js';
