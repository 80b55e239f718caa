#include "core/joint/calibration/example_runs.h"

namespace planwright {

std::string_view ExampleRuns() {
  return "id,source,framework,model_name,family,layers,hidden,heads,ffn,vocab,sequence,gpu,gpus,global_batch,micro_"
         "batch,"
         "tp,pp,vp,sequence_parallel,recomputation,measured_year,step_seconds\n"
         "22b-full,arXiv:2205.05198,Megatron-LM,GPT "
         "22B,gpt,48,6144,64,24576,51200,2048,a100-80,8,4,4,8,1,1,no,full,2022,"
         "1.42\n"
         "22b-selective,arXiv:2205.05198,Megatron-LM,GPT 22B,gpt,48,6144,64,24576,51200,2048,a100-80,8,4,4,8,1,1,yes,"
         "selective,2022,1.10\n"
         "175b-full,arXiv:2205.05198,Megatron-LM,GPT "
         "175B,gpt,96,12288,96,49152,51200,2048,a100-80,64,64,1,8,8,3,no,full,"
         "2022,18.13\n"
         "175b-selective,arXiv:2205.05198,Megatron-LM,GPT "
         "175B,gpt,96,12288,96,49152,51200,2048,a100-80,64,64,1,8,8,3,yes,"
         "selective,2022,13.75\n"
         "530b-full,arXiv:2205.05198,Megatron-LM,GPT "
         "530B,gpt,105,20480,128,81920,51200,2048,a100-80,280,280,1,8,35,3,no,"
         "full,2022,49.05\n"
         "530b-selective,arXiv:2205.05198,Megatron-LM,GPT "
         "530B,gpt,105,20480,128,81920,51200,2048,a100-80,280,280,1,8,35,3,"
         "yes,selective,2022,37.83\n"
         "1t-full,arXiv:2205.05198,Megatron-LM,GPT "
         "1T,gpt,128,25600,160,102400,51200,2048,a100-80,512,512,1,8,64,1,no,full,"
         "2022,94.42\n"
         "1t-selective,arXiv:2205.05198,Megatron-LM,GPT "
         "1T,gpt,128,25600,160,102400,51200,2048,a100-80,512,512,1,8,64,1,"
         "yes,selective,2022,71.49\n";
}

}  // namespace planwright
