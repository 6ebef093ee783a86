// A reference to something callable, for parameters: nothing is copied, nothing allocated.
#ifndef RUNTIME_CORE_FUNCTION_REF_H
#define RUNTIME_CORE_FUNCTION_REF_H

#include <type_traits>
#include <utility>

namespace xf::rt {

template <typename> class function_ref;

// What it refers to must outlive it: a temporary does so until the call that it is an argument of returns.
template <typename Result, typename... Arguments> class function_ref<Result(Arguments...)> {
public:
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref>)
  function_ref(const F &f)
      : object_(&f), call_([](const void *object, Arguments... arguments) -> Result {
          return (*static_cast<const F *>(object))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

private:
  const void *object_;
  Result (*call_)(const void *, Arguments...);
};

} // namespace xf::rt

#endif
