// The Go contender: a controller-runtime operator that sets one Ready condition per object, written as its book teaches it.
// It begins with the kubeconfig in KUBECONFIG and runs until it is told to stop. CONCURRENCY is its number of workers.
package main

import (
	"context"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var groupVersion = schema.GroupVersion{Group: "example.io", Version: "v1"}

type GadgetSpec struct {
	Size int64  `json:"size,omitempty"`
	Text string `json:"text,omitempty"`
}

type GadgetStatus struct {
	Phase      string             `json:"phase,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GadgetSpec   `json:"spec,omitempty"`
	Status            GadgetStatus `json:"status,omitempty"`
}

type GadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gadget `json:"items"`
}

func (g *Gadget) DeepCopy() *Gadget {
	out := &Gadget{TypeMeta: g.TypeMeta, Spec: g.Spec, Status: g.Status}
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = nil
	for i := range g.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *g.Status.Conditions[i].DeepCopy())
	}
	return out
}

func (g *Gadget) DeepCopyObject() runtime.Object { return g.DeepCopy() }

func (l *GadgetList) DeepCopyObject() runtime.Object {
	out := &GadgetList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return out
}

type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	gadget := &Gadget{}
	if err := r.Get(ctx, request.NamespacedName, gadget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := gadget.DeepCopy()
	changed := meta.SetStatusCondition(&gadget.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "AllUp", Message: "everything is up",
	})
	if !changed {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Status().Patch(ctx, gadget, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func must(err error) {
	if err != nil {
		log.Log.Error(err, "cannot run")
		os.Exit(1)
	}
}

func main() {
	ctrl.SetLogger(zap.New())
	workers, err := strconv.Atoi(os.Getenv("CONCURRENCY"))
	must(err)
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &Gadget{}, &GadgetList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	config := ctrl.GetConfigOrDie()
	config.UserAgent = "controller-runtime"
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	must(err)
	must(ctrl.NewControllerManagedBy(manager).For(&Gadget{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&reconciler{manager.GetClient()}))
	must(manager.Start(ctrl.SetupSignalHandler()))
}
