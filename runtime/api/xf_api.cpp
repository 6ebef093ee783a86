// The C API: models, sessions, entries called by name.
#include "runtime/api/handles.h"
#include "runtime/core/cpu.h"

#include <algorithm>
#include <string>
#include <vector>

#include <link.h>

using namespace xf::rt;

namespace {
thread_local std::string last_message;
}

xf_status xf::rt::report(xf_status code, const char *message) {
  try {
    last_message = message;
  } catch (...) {
    last_message.clear();
  }
  return code;
}

namespace {

xf_status wrap(std::shared_ptr<const model> opened, xf_model **result) {
  auto handle = std::make_unique<xf_model>();
  for (size_t i = 0; i < opened->entries().size(); ++i)
    if (opened->entries()[i].kind == XF_ABI_ENTRY_FULL)
      handle->entries.push_back(static_cast<int>(i));
  if (opened->header().generate.present) {
    arena_plan unused;
    handle->source = source_layout(*opened, unused).required;
  }
  handle->codecs = std::make_shared<text_codecs>(opened);
  handle->impl = std::move(opened);
  *result = handle.release();
  return XF_OK;
}

// The file that this code is in, found by an address: another library of the process may have functions of the same
// names.
std::string own_file() { return file_of_address(reinterpret_cast<const void *>(&wrap)); }

// This file, the program, and the libraries that the process has loaded.
std::vector<std::string> loaded_files() {
  std::vector<std::string> files = {own_file(), "/proc/self/exe"};
  // Nothing may be thrown through the C library, which other code unwinds than that in this library.
  auto add = [](struct dl_phdr_info *info, size_t, void *list) {
    try {
      if (info->dlpi_name && info->dlpi_name[0] != '\0')
        static_cast<std::vector<std::string> *>(list)->push_back(info->dlpi_name);
      return 0;
    } catch (const std::bad_alloc &) {
      return 1;
    }
  };
  if (dl_iterate_phdr(add, &files) != 0)
    throw std::bad_alloc();
  return files;
}

// The model that is attached to the file; null if there is none that can be used.
std::shared_ptr<const model> model_of(const std::string &file) {
  try {
    return open_model(file);
  } catch (const error &) {
    return nullptr;
  }
}

const entry_info *entry_at(const xf_model *m, int32_t entry) {
  if (!m || entry < 0 || static_cast<size_t>(entry) >= m->entries.size())
    return nullptr;
  return &m->impl->entries()[m->entries[entry]];
}

xf_status describe(const entry_info *entry, const std::vector<tensor_info> *tensors, int32_t index, xf_tensor_info *info) {
  require(entry, "there is no such entry, or the model is null");
  require(info, "the information is null");
  if (index < 0 || static_cast<size_t>(index) >= tensors->size())
    fail(status::invalid_argument, "there is no tensor %d: they are numbered from 0, and there are %zu", index, tensors->size());
  const tensor_info &tensor = (*tensors)[index];
  *info = {tensor.name.c_str(), static_cast<int32_t>(tensor.dtype), static_cast<int32_t>(tensor.dim.size()), {}, tensor.bound};
  std::copy(tensor.dim.begin(), tensor.dim.end(), info->shape);
  return XF_OK;
}

const entry_info &callable(const model &m, const char *name) {
  require(name, "the entry's name is null");
  int found = m.find_entry(name);
  if (found < 0 || m.entries()[found].kind != XF_ABI_ENTRY_FULL)
    fail(status::invalid_argument, "model '%s' has no entry '%s'", m.name().c_str(), name);
  return m.entries()[found];
}

} // namespace

const char *xf_message(void) { return last_message.c_str(); }
const char *xf_version(void) { return XF_VERSION_TEXT; }

xf_status xf_open(const char *path, xf_model **result) {
  return guard([&] {
    require(path && result, "the path or the result is null");
    return wrap(open_model(path), result);
  });
}

xf_status xf_open_memory(const void *data, uint64_t size, xf_model **result) {
  return guard([&] {
    require(result, "the result is null");
    return wrap(open_model(data, size), result);
  });
}

xf_status xf_open_self(xf_model **result) {
  return guard([&] {
    require(result, "the result is null");
    return wrap(open_model(own_file()), result);
  });
}

xf_status xf_open_linked(const char *name, xf_model **result) {
  return guard([&] {
    require(name && result, "the name or the result is null");
    for (const std::string &file : loaded_files())
      if (std::shared_ptr<const model> found = model_of(file); found && found->name() == name)
        return wrap(std::move(found), result);
    std::shared_ptr<const model> own = open_model(own_file()); // throws if it is damaged, or of another version
    fail(status::invalid_argument, "no library with model '%s' is loaded; this one has '%s'", name, own->name().c_str());
  });
}

void xf_model_free(xf_model *m) { delete m; }

const char *xf_model_name(const xf_model *m) { return m ? m->impl->name().c_str() : nullptr; }

const void *xf_model_ir(const xf_model *m, uint64_t *size) {
  std::string_view ir = m ? m->impl->text(m->impl->header().ir) : std::string_view();
  if (size)
    *size = ir.size();
  return ir.data();
}

xf_status xf_get_limits(const xf_model *m, xf_limits *limits) {
  return guard([&] {
    require(m, "the model is null");
    require_size(limits, XF_FIRST_SIZE(xf_limits, scratch_bytes), "the limits are null or their size is not set");
    const xf_abi_generate &g = m->impl->header().generate;
    bool searches = g.present, predicts = m->impl->header().predict.present;
    memory_bound memory = memory_of(*m->impl);
    xf_limits values = {};
    values.batch = searches || predicts ? g.batch : 0;
    values.source = searches || predicts ? g.source : 0;
    values.beam = searches ? g.beam : 0;
    values.target = searches ? g.target : 0;
    values.vocabulary = searches ? m->impl->entries()[g.step].outputs[g.logits_output].dim[2] : 0;
    values.weights_bytes = memory.weights;
    values.state_bytes = memory.state;
    values.workspace_bytes = memory.workspace;
    values.search_bytes = memory.search;
    values.scratch_bytes = memory.scratch;
    write_struct(limits, values);
    return XF_OK;
  });
}

xf_status xf_get_search_info(const xf_model *m, xf_search_info *info) {
  return guard([&] {
    require(m, "the model is null");
    require_size(info, XF_FIRST_SIZE(xf_search_info, source_inputs), "the information is null or its size is not set");
    const xf_abi_generate &g = m->impl->header().generate;
    xf_search_info values = {0, g.present != 0, m->impl->header().predict.present != 0, -1, -1, -1, 0};
    if (g.present) {
      values.start = g.start, values.end = g.end, values.pad = g.pad;
      values.source_inputs = static_cast<int32_t>(m->source.inputs.size());
    }
    write_struct(info, values);
    return XF_OK;
  });
}

int32_t xf_dim_count(const xf_model *m) { return m ? static_cast<int32_t>(m->impl->dims().size()) : 0; }
const char *xf_dim_name(const xf_model *m, int32_t dim) { return dim >= 0 && dim < xf_dim_count(m) ? m->impl->dims()[dim].name.c_str() : nullptr; }
int64_t xf_dim_limit(const xf_model *m, int32_t dim) { return dim >= 0 && dim < xf_dim_count(m) ? m->impl->dims()[dim].max : -1; }

int32_t xf_entry_count(const xf_model *m) { return m ? static_cast<int32_t>(m->entries.size()) : 0; }
const char *xf_entry_name(const xf_model *m, int32_t entry) {
  const entry_info *found = entry_at(m, entry);
  return found ? found->name.c_str() : nullptr;
}
int32_t xf_input_count(const xf_model *m, int32_t entry) {
  const entry_info *found = entry_at(m, entry);
  return found ? static_cast<int32_t>(found->inputs.size()) : -1;
}
int32_t xf_output_count(const xf_model *m, int32_t entry) {
  const entry_info *found = entry_at(m, entry);
  return found ? static_cast<int32_t>(found->outputs.size()) : -1;
}
xf_status xf_input_info(const xf_model *m, int32_t entry, int32_t input, xf_tensor_info *info) {
  return guard([&] {
    const entry_info *found = entry_at(m, entry);
    return describe(found, found ? &found->inputs : nullptr, input, info);
  });
}
xf_status xf_output_info(const xf_model *m, int32_t entry, int32_t output, xf_tensor_info *info) {
  return guard([&] {
    const entry_info *found = entry_at(m, entry);
    return describe(found, found ? &found->outputs : nullptr, output, info);
  });
}

xf_status xf_source_info(const xf_model *m, int32_t input, xf_tensor_info *info) {
  return guard([&] { return describe(m ? &m->source : nullptr, m ? &m->source.inputs : nullptr, input, info); });
}

void xf_session_options_init(xf_session_options *options, size_t size) {
  xf_session_options defaults = {}; // all of it, the bytes between fields included
  defaults.size = size;
  defaults.isa = XF_ISA_BEST;
  defaults.device = XF_DEVICE_BEST;
  init_struct(options, size, defaults);
}

xf_status xf_session_create(const xf_model *m, const xf_session_options *options, xf_session **result) {
  return guard([&] {
    require(m && result, "the model or the result is null");
    session_options o;
    if (options) {
      require_size(options, XF_FIRST_SIZE(xf_session_options, isa), "the options' size is not set");
      xf_session_options given;
      xf_session_options_init(&given, sizeof(given));
      given = read_struct(options, given);
      require_choice("instruction set", given.isa, XF_ISA_BEST, XF_ABI_ISA_COUNT - 1);
      require_choice("device", given.device, XF_DEVICE_BEST, XF_DEVICE_EMULATOR);
      o = {given.threads, given.isa, static_cast<device_kind>(given.device), {given.run_threads, given.threads_context}};
    }
    *result = new xf_session(*m, o);
    return XF_OK;
  });
}

void xf_session_free(xf_session *s) { delete s; }
int32_t xf_session_threads(const xf_session *s) { return s ? s->impl.threads() : 0; }
const char *xf_session_isa(const xf_session *s) { return s ? isa_name(s->impl.isa()) : nullptr; }
const char *xf_session_device(const xf_session *s) { return s ? s->impl.device_name() : nullptr; }

xf_status xf_output_shapes(xf_session *s, const char *entry_name, const xf_tensor *inputs, int32_t input_count, xf_tensor *outputs,
                           int32_t output_count) {
  return guard([&] {
    require(s, "the session is null");
    require(output_count >= 0 && (outputs || output_count == 0), "the outputs are null, or fewer than none");
    const model &m = s->impl.get_model();
    const entry_info &entry = callable(m, entry_name);
    arguments given("inputs", inputs, input_count);
    bind_inputs(m, entry, given.given, s->impl.call_dims(), s->impl.call_io());
    for (int32_t i = 0; i < output_count; ++i) {
      argument wanted{outputs[i].name, 0, 0, nullptr, nullptr};
      const tensor_info &tensor = entry.outputs[index_of(entry, entry.outputs, wanted, i, "output")];
      outputs[i].name = tensor.name.c_str();
      outputs[i].dtype = tensor.dtype;
      outputs[i].rank = static_cast<int32_t>(tensor.dim.size());
      shape_of(tensor, s->impl.call_dims(), outputs[i].shape);
    }
    return XF_OK;
  });
}

xf_status xf_run(xf_session *s, const char *entry_name, const xf_tensor *inputs, int32_t input_count, const xf_tensor *outputs,
                 int32_t output_count) {
  return guard([&] {
    require(s, "the session is null");
    const model &m = s->impl.get_model();
    const entry_info &entry = callable(m, entry_name);
    arguments given("inputs", inputs, input_count), wanted("outputs", outputs, output_count);
    int64_t *dims = s->impl.call_dims();
    void **io = s->impl.call_io();
    bind_inputs(m, entry, given.given, dims, io);
    bind_outputs(m, entry, wanted.given, dims, io + entry.inputs.size());
    check_no_aliasing(m, entry, dims, io);
    s->impl.call(entry, dims, io);
    return XF_OK;
  });
}
